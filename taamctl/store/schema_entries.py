"""What is said of an array of an artefact, and of a kind of artefact.

A path may hold `{task}` (two digits or more) and `{part}` (train, val, test). Dimension letters are
those of the pages: N nodes of the group, E edges, F features, C classes, T tasks, J hops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from taamctl.core.plain_values import Plain
from taamctl.core.versions import Versions

Attributes = dict[str, Plain]  # the root attributes of an artefact, by name


@dataclass(frozen=True)
class Entry:
    """One HDF5 data set of an artefact: its dtype, dimension labels and meaning; `optional`
    where a switch decides; `since` which version of the kind it is written.

    Of several dtypes, such as `int16 or int32`, an array keeps its own; another is made the last.
    """

    dtype: str
    dims: tuple[str, ...]
    doc: str
    optional: bool = False
    since: int = 1

    def stored_as(self, given: str) -> str:
        """Return the dtype that an array of the dtype `given` is stored with."""
        known = self.dtype.split(" or ")
        return given if given in known else known[-1]


@dataclass(frozen=True)
class Kind:
    """One kind of artefact: it drives the writer and the reader.

    Attributes:
        name: as its files state it.
        version: that is written now. doc: what it is.
        entries: its arrays, by their paths.
        open_entries: further ones are admitted (a method's own state).
        later_attributes: those root attributes that came after version 1, each with the version
            since which it is written.
        steps: version n -> what turns the root attributes of a file of version n into those of
            n + 1. Arrays have never been renamed or changed in meaning; one that an earlier
            version lacks is refused by name where it is asked for (`since`).
    """

    name: str
    version: int
    doc: str
    entries: dict[str, Entry]
    open_entries: bool = False
    later_attributes: Mapping[str, int] = field(default_factory=dict)
    steps: Mapping[int, Callable[[Attributes], Attributes]] = field(default_factory=dict)

    @property
    def versions(self) -> Versions[Attributes]:
        """Return its versions, and the steps between them."""
        return Versions(self.name, self.version, self.steps)

    def entry(self, path: str) -> Entry | None:
        """Return what describes an array, or None where nothing does."""
        if path in self.entries:
            return self.entries[path]
        pieces = path.split("/")
        for pattern, entry in self.entries.items():
            want = pattern.split("/")
            if len(want) == len(pieces) and all(
                w == p or w in ("{task}", "{part}") for w, p in zip(want, pieces, strict=True)
            ):
                return entry
        return None

    def since(self, name: str) -> int:
        """Return since which version an array or a root attribute is written."""
        entry = self.entry(name)
        if entry is not None:
            return entry.since
        return self.later_attributes.get(name, 1)
