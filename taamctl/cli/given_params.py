"""The parameters that a folder to set up was given: by its own params.yaml, where that is to be
written anew, and by --set. They stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from taamctl.core.errors import TaamctlError
from taamctl.params.params_file import PACKAGED, Tree, read


@dataclass(frozen=True)
class Given:
    """Where parameters come from.

    Attributes:
        base: the parameter file.
        chosen: `section.key` of those that differ from the packaged ones, or that --set names.
    """

    base: Path
    chosen: frozenset[str]


def given(folder: Path, overrides: Iterable[str], *, again: bool) -> Given:
    """Return what a folder was given.

    Args:
        again: its params.yaml may be written anew.

    Raises:
        TaamctlError: there is one that is no parameter file.
    """
    usual = tree = read(PACKAGED)
    base = PACKAGED
    own = folder / "params.yaml"
    if again and own.is_file():
        base, tree = own.absolute(), _read(own)
    named = (override.partition("=")[0].strip() for override in overrides)
    inside = (key for name in named for key in _keys(name, usual))
    return Given(base, frozenset([*inside, *_differing(usual, tree)]))


def _read(own: Path) -> Tree:
    try:
        return read(own)
    except TaamctlError as error:
        raise TaamctlError(
            f"what is to be kept cannot be read: {error.message}",
            f"mend it, or remove it to begin anew: rm {quote(str(own))}",
        ) from None


def _keys(name: str, usual: Mapping[str, object]) -> list[str]:
    """Return the name, and where it is that of a section its keys."""
    section = usual.get(name)
    return [name, *(f"{name}.{key}" for key in section)] if isinstance(section, dict) else [name]


def _differing(usual: Mapping[str, object], tree: Mapping[str, object]) -> Iterator[str]:
    """Yield the keys of a parameter file that are not as packaged."""
    for name, section in tree.items():
        known = usual.get(name)
        if isinstance(section, dict) and isinstance(known, dict):
            yield from (f"{name}.{key}" for key in section if section[key] != known.get(key))
