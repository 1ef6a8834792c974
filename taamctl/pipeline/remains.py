"""What may go from an outputs folder: files that are stale, of another place, or left behind by a
process that was killed.

Only files are named that a record or their own name says were made here. Data, banks, and what
users put beside are never among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from taamctl.core import registry
from taamctl.core.paths import CHECKPOINTS
from taamctl.core.plain_values import Plain
from taamctl.pipeline import status
from taamctl.runtime import input_gate, provenance
from taamctl.runtime.artefact_key import altered
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout
from taamctl.runtime.stage_table import ROWS, TABLE
from taamctl.store import processes

Kind = Literal["stale", "other settings", "foreign", "unknown", "left behind", "unfinished"]
# A temporary file: where the process that writes it runs, and that process's number.
TEMPORARY = re.compile(r"\..+\.(?P<place>[0-9a-f]{8})-(?P<pid>\d+)-[0-9a-f]{8}\.tmp")
SCRATCH = re.compile(r"\.twice-(?P<place>[0-9a-f]{8})-(?P<pid>\d+)-.*")
Stamp = tuple[int, int]  # time of the last change in ns, bytes


@dataclass(frozen=True)
class Remain:
    """Files that go together.

    Attributes:
        kind: `stale`: a run would make it anew; `other settings`: a run with the parameters that
            made it would not, with those here it would; `foreign`: of another data set, method or
            seed; `unknown`: of a data set or method that this folder and this installation do not
            know; `left behind`: of a process that was killed; `unfinished`: finished tasks of a
            training that did not end, which go on from there.
        main: the file, or folder, that the rest belongs to.
        files: every file, with how it was when it was looked at; the last ones are the records.
        why: in words.
        locks: of what the writers' locks are held while they go; none where a file is known by its
            name to be nobody's.
    """

    kind: Kind
    main: Path
    files: tuple[tuple[Path, Stamp], ...]
    why: str
    locks: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _, (_, size) in self.files)


@dataclass(frozen=True)
class Place:
    """An artefact that lies in an outputs folder.

    Attributes:
        main: the file with the lock and the record.
        names: of its data set, and of its method; empty where there is none.
    """

    stage: str
    main: Path
    names: tuple[str, str]


def places(root: Path) -> Iterator[Place]:
    """Yield every artefact with a record below an outputs folder, by the stage table."""
    for stage in ROWS.values():
        if not stage.files:
            continue
        middle = "*/*/seed-*/" if stage.each == "run" else "*/"
        for main in sorted((root / stage.name).glob(middle + stage.files[0])):
            folders = main.relative_to(root).parts
            method = folders[2] if stage.each == "run" else ""
            if provenance.recorded(main) is not None:
                yield Place(stage.name, main, (folders[1], method))


def held(root: Path) -> list[tuple[str, list[str], list[int]]]:
    """Return the data sets that lie in an outputs folder, each with its methods and seeds; what is
    no longer known is left out.
    """
    found: dict[str, tuple[set[str], set[int]]] = {}
    for place in places(root):
        if place.stage not in TABLE:
            continue
        dataset, method = place.names
        methods, seeds = found.setdefault(dataset, (set(), set()))
        seed = place.main.parent.name.removeprefix("seed-")
        if method in registry.names("taamctl.methods") and seed.isdecimal():
            methods.add(method)
            seeds.add(int(seed))
    known = registry.names("taamctl.datasets")
    return [(name, sorted(m), sorted(s)) for name, (m, s) in found.items() if name in known]


def foreign(root: Path) -> Iterator[Remain]:
    """Yield what is not of its place, by its own record."""
    for place in places(root):
        label = (provenance.recorded(place.main) or {}).get("label")
        if label != input_gate.label_of(place.main) and not _unknown(place):
            yield _artefact("foreign", place, f"it is of {label}")


def unknown(root: Path) -> Iterator[Remain]:
    """Yield what is of a data set or method that is not known here. It may be known elsewhere: a
    graph of one's own belongs to the folder that it lies in, a plug-in to an installation.
    """
    for place in places(root):
        if why := _unknown(place):
            yield _artefact("unknown", place, why)


def _unknown(place: Place) -> str:
    """Say which name of a place is not known; nothing where all are."""
    kinds = ("taamctl.datasets", "taamctl.methods")
    for kind, name in zip(kinds, place.names, strict=True):
        if name and name not in registry.names(kind):
            return f"there is no {kind.rpartition('.')[2].removesuffix('s')} {name} here"
    return ""


def stale(context: Context) -> Iterator[Remain]:
    """Yield the artefacts of the `run` section that `taamctl run` would not use as they are: stale
    ones, and those of other settings. What was written over by somebody else since is not ours to
    remove.
    """
    for line in status.lines(context):
        if line.stage == "report" or line.state != "stale" or line.would not in ("make", "take"):
            continue
        main = Path(line.path)
        if provenance.recorded(main) is not None and _is_ours(main):
            place = Place(line.stage, main, (line.dataset, line.method))
            kind: Kind = "other settings" if line.only_settings else "stale"
            yield _artefact(kind, place, "; ".join(line.reasons))


def _is_ours(main: Path) -> bool:
    """Tell whether an artefact, and all that was written with it, is as its record says; what is
    not there any more counts for nothing.
    """
    record = provenance.recorded(main) or {}
    there = [path for name in record["outputs"] if (path := main.with_name(name)).is_file()]
    return not altered(record, tuple(there))


def outdated(root: Path) -> Iterator[Remain]:
    """Yield lenses and the report where what they were made from is not there any more as it was:
    no other stage reads them.
    """
    report = Place("report", root / "report" / "report.json", ("", ""))
    for place in (*places(root), report):
        record = provenance.recorded(place.main)
        if place.stage not in ("lens", "report") or record is None:
            continue
        moved = [name for name, digest in _inputs(record) if _is_other(root / name, digest)]
        if moved:
            more = f" and {len(moved) - 1} more" * (len(moved) > 1)
            yield _artefact("stale", place, f"made from another {moved[0]}{more}")


def left_behind(root: Path) -> Iterator[Remain]:
    """Yield temporary files and folders of processes that are surely gone."""
    banks = {path.parent for path in root.rglob("manifest.json")}
    for path in sorted(root.rglob(".*")):
        found = TEMPORARY.fullmatch(path.name) or SCRATCH.fullmatch(path.name)
        if found is None or banks & {*path.parents} or not _is_dead(found):
            continue
        try:
            files = _files(path)
        except FileNotFoundError:  # the next writer of the same thing sweeps too
            continue
        yield Remain("left behind", path, files, "its process was killed", ())


def unfinished(root: Path) -> Iterator[Remain]:
    """Yield the finished tasks of trainings, and the last snapshots of replays, that did not
    end.
    """
    for folder in sorted((root / CHECKPOINTS).glob("*/*/seed-*")):
        seed = folder.name.removeprefix("seed-")
        files = tuple(each for each in _files(folder) if each[0].suffix == ".h5")
        if files and seed.isdecimal():
            why = f"{len(files)} finished tasks: the same command goes on from here"
            dataset, method = folder.relative_to(root / CHECKPOINTS).parts[:2]
            run = (dataset, method, int(seed))
            # Who trains here holds the lock of the artefact, who does so on a cluster the other.
            locks = (Layout(root).file("train", *run), Layout(root).tasks(*run))
            yield Remain("unfinished", folder, files, why, locks)
    for folder in sorted((root / "stream").glob("*/*/seed-*/unfinished")):
        if files := tuple(each for each in _files(folder) if each[0].suffix == ".h5"):
            why = "the last snapshot of a replay: the same command goes on from here"
            lock = folder.with_name(ROWS["stream"].files[0])
            yield Remain("unfinished", folder, files, why, (lock,))


def _artefact(kind: Kind, place: Place, why: str) -> Remain:
    """Return an artefact with all that was written with it, the record last: a file without its
    record would be taken as it is.
    """
    record = provenance.recorded(place.main) or {}
    names = [place.main.name, *sorted(set(record.get("outputs", {})) - {place.main.name})]
    names += [f".{name}.stamp" for name in names]  # hidden, beside files whose time was changed
    paths = [place.main.with_name(name) for name in names] + [provenance.sidecar_of(place.main)]
    files = tuple((path, stamp_of(path)) for path in paths if path.is_file())
    return Remain(kind, place.main, files, why, (place.main,))


def stamp_of(path: Path) -> Stamp:
    """Return what tells that a file was written anew."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _files(path: Path) -> tuple[tuple[Path, Stamp], ...]:
    every = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return tuple((each, stamp_of(each)) for each in every)


def _is_dead(found: re.Match[str]) -> bool:
    return found["place"] == processes.place() and not processes.is_running(int(found["pid"]))


def _inputs(record: Plain) -> list[tuple[str, str]]:
    """Return the inputs that lie in the same tree, each with its checksum; those of another tree,
    which `report --also` names, begin with that tree's folder.
    """
    every = record.get("key", {}).get("inputs", {})
    return [(name, digest) for name, digest in every.items() if Path(name).parts[0] in TABLE]


def _is_other(path: Path, digest: str) -> bool:
    if not path.is_file():
        return True
    known = (provenance.recorded(path) or {}).get("outputs", {}).get(path.name)
    return provenance.artefact_digest(path, known) != digest
