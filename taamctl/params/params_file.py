"""Read params.yaml, and apply `--set key.sub=value` to what was read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain

if TYPE_CHECKING:
    import yaml

Tree = dict[str, Plain]  # a parameter file, as read
PACKAGED = Path(__file__).resolve().parent.parent / "params.yaml"
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
    import yaml

    try:
        tree = yaml.load(path.read_text(encoding="utf-8"), Loader=_strict_loader())
    except yaml.YAMLError as error:
        raise TaamctlError(f"{path} is no valid YAML: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise TaamctlError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TaamctlError(f"{path} is not UTF-8 text") from None
    if not isinstance(tree, dict):
        raise TaamctlError(
            f"{path} holds no mapping of sections",
            "taamctl init writes a complete file; the README names the sections",
        )
    for override in overrides:
        set_value(tree, override)
    return tree


def _strict_loader() -> type[yaml.SafeLoader]:
    """Return a safe loader that refuses a key given twice, as DVC's does; plain YAML takes the
    last.
    """
    import yaml

    class Loader(yaml.SafeLoader):
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

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return Loader


def set_value(tree: Tree, override: str) -> None:
    """Apply one `key.sub=value` override to a parameter tree, in place.

    Raises:
        TaamctlError: it names a key that is not there, or its value is no YAML.
    """
    import yaml

    key, equals, text = override.partition("=")
    if not equals:
        raise TaamctlError(f"--set {override}: no value", f"{SET_HINT}, such as train.lr=0.01")
    *parents, last = key.strip().split(".")
    node: object = tree
    for name in parents:
        node = node.get(name) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node:
        near = difflib.get_close_matches(key.strip(), sorted(_leaves(tree)), n=1)
        raise TaamctlError(
            f"--set {override}: no such parameter",
            f"did you mean {near[0]}=...?" if near else SET_HINT,
        )
    try:
        node[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise TaamctlError(f"--set {override}: {text!r} is no YAML value", SET_HINT) from None


def _leaves(tree: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        yield f"{prefix}{key}"
