"""Read params.yaml, and apply `--set key.sub=value` to what was read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain

if TYPE_CHECKING:
    import yaml

Tree = dict[str, Plain]  # a parameter file, as read
PACKAGED = Path(__file__).resolve().parent.parent / "params.yaml"
LARGEST = 100_000  # values in a parameter file
DEEPEST = 50  # lists and mappings in each other; the packaged file has 4
LONGEST = 1 << 18  # characters of a parameter file; the packaged one has a twentieth of that
MOST_SHOWN = 60  # characters of an override in a message
MOST_SAID = 300  # characters of what the parser says
# What a tag that does not fit (`!!int x`) raises: the parser does not catch it itself.
UNFIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
DOUBTFUL = "\t!"  # signs that libyaml and PyYAML read differently in places
SET_HINT = "write it as section.key=value"


def locate(option: Path | None) -> tuple[Path, bool]:
    """Return the parameter file to use and whether it is the packaged default."""
    if option is not None:
        if not option.is_file():
            raise TaamctlError(
                f"no parameter file {option}",
                "pass --params FILE, or leave it out to use the packaged default",
            )
        return option, False
    here = Path("params.yaml")
    if here.is_file():
        return here, False
    return PACKAGED, True


def read(path: Path, overrides: Iterable[str] = ()) -> Tree:
    """Read a parameter file and apply `key.sub=value` overrides (values are YAML).

    Raises:
        TaamctlError: the file is no YAML mapping, or an override names a key that is not there.
    """
    try:
        tree = _value_of(path.read_text(encoding="utf-8"))
    except NotYaml as error:
        raise TaamctlError(
            f"{path} is no valid YAML: {error}", "the packaged one is: taamctl params"
        ) from None
    except OSError as error:
        raise TaamctlError(
            f"cannot read {path}: {error.strerror}",
            "make it readable, or name another file with --params",
        ) from None
    except UnicodeDecodeError:
        raise TaamctlError(f"{path} is not UTF-8 text", "save it as UTF-8 text") from None
    if not isinstance(tree, dict):
        raise TaamctlError(
            f"{path} holds no mapping of sections",
            "taamctl init writes a complete file; taamctl docs parameters names the sections",
        )
    for override in overrides:
        set_value(tree, override)
    return tree


class NotYaml(Exception):
    """A text is no YAML, or no YAML that is read here."""


def _value_of(text: str) -> object:
    """Return the value of a YAML text.

    Raises:
        NotYaml: it is none; or has more than `LARGEST` values, aliases counted each time, or some
            deeper in each other than `DEEPEST`.
    """
    import yaml

    if len(text) > LONGEST:
        raise NotYaml(f"it has {len(text):,} characters, more than {LONGEST:,}")
    try:
        value = _parsed(text)
        size, depth = _extent(value, {})
    except (yaml.YAMLError, *UNFIT) as error:
        raise NotYaml(" ".join(str(error).split())[:MOST_SAID]) from None
    if size > LARGEST:
        raise NotYaml(f"its aliases stand for more than {LARGEST:,} values")
    if depth > DEEPEST:
        raise NotYaml(f"its values lie more than {DEEPEST} deep in each other")
    return value


def _extent(value: object, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return how many values a value holds, what is repeated by an alias each time, and how deep
    they lie in each other.
    """
    if not isinstance(value, (dict, list, tuple, set)):
        return 1, 0
    if id(value) not in known:
        known[id(value)] = LARGEST + 1, 0  # of one that holds itself
        inner = value.values() if isinstance(value, dict) else value
        found = [_extent(each, known) for each in inner]
        size = 1 + sum(each for each, _ in found)
        known[id(value)] = size, 1 + max((depth for _, depth in found), default=0)
    return known[id(value)]


def _parsed(text: str) -> object:
    """Return the value of a YAML text, by libyaml where PyYAML was built with it."""
    import yaml

    fast = getattr(yaml, "CSafeLoader", None)
    if fast is not None and not any(sign in text for sign in DOUBTFUL):
        # What it refuses is left to PyYAML's own, so that messages are the same everywhere.
        with suppress(yaml.YAMLError, *UNFIT):
            return yaml.load(text, Loader=_strict(fast))
    return yaml.load(text, Loader=_strict(yaml.SafeLoader))


def _strict(plain: type[yaml.SafeLoader]) -> type[yaml.SafeLoader]:
    """Return a safe loader that refuses a key given twice, as DVC's does; plain YAML takes the
    last. Numbers to the base of 60, which YAML 1.2 has no more, are text: else `{2:1}` is 121.
    """
    import yaml

    class Loader(plain):  # type: ignore[misc, valid-type]
        pass

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[object, object]:
        found: dict[object, object] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if key in found:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", node.start_mark
                )
            found[key] = loader.construct_object(value_node, deep=True)
        return found

    Loader.yaml_implicit_resolvers = {
        first: [(tag, _without_base_60(tag, pattern)) for tag, pattern in resolvers]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return Loader


def _without_base_60(tag: str, pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Return the pattern of a kind of value, for numbers one that takes no colon."""
    if tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
        return re.compile(rf"(?!.*:)(?:{pattern.pattern})", pattern.flags)
    return pattern


def set_value(tree: Tree, override: str) -> None:
    """Apply one `key.sub=value` override to a parameter tree, in place.

    Raises:
        TaamctlError: it names a key that is not there, or its value is no YAML.
    """
    key, equals, text = override.partition("=")
    shown = override[:MOST_SHOWN] + "..." * (len(override) > MOST_SHOWN)
    if not equals:
        raise TaamctlError(f"--set {shown}: no value", f"{SET_HINT}, such as train.lr=0.01")
    *parents, last = key.strip().split(".")
    node: object = tree
    for name in parents:
        node = node.get(name) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node:
        near = difflib.get_close_matches(key.strip(), sorted(_leaves(tree)), n=1)
        raise TaamctlError(
            f"--set {shown}: no such parameter",
            f"did you mean {near[0]}=...?" if near else SET_HINT,
        )
    try:
        node[last] = _value_of(text)
    except NotYaml:
        raise TaamctlError(
            f"--set {shown}: {text[:MOST_SHOWN]!r} is no YAML value", SET_HINT
        ) from None


def _leaves(tree: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        yield f"{prefix}{key}"
