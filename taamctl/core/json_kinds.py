"""The kinds of JSON files that are read again, with their versions: one table.

Those of HDF5 files are in `store/schema.py`. A file states its kind as `kind`, its version as
`schema_version`, or under the name that the table gives. One that states no version is of version
0: it was written before versions were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.versions import Versions

Record = dict[str, Plain]  # what a JSON file says


@dataclass(frozen=True)
class JsonKind:
    """One kind of JSON file.

    Attributes:
        versions: its name, its versions and the steps between them.
        file: where it lies. doc: what it holds. again: how to make it again.
        key: the name of the version in the file.
    """

    versions: Versions[Record]
    file: str
    doc: str
    again: str
    key: str = "schema_version"

    @property
    def stamp(self) -> Record:
        """Return what every file of this kind states of itself."""
        return {"kind": self.versions.kind, self.key: self.versions.present}

    def read(self, made: object, origin: str) -> Record:
        """Return what a file says, in the words of the present version.

        Args:
            made: what its JSON holds. origin: the file, for messages.

        Raises:
            TaamctlError: no file of this kind, one of a version that is not read, or one that
                lacks what its version has.
        """
        kind = self.versions.kind
        if not isinstance(made, Mapping) or made.get("kind", kind) != kind:
            raise TaamctlError(f"{origin} is no {kind}", self.again)
        try:
            return self.versions.upgraded(dict(made), made.get(self.key, 0), origin, self.again)
        except (KeyError, TypeError, AttributeError):
            raise self.unreadable(origin) from None

    def unreadable(self, origin: str) -> TaamctlError:
        """Return the error of a file that lacks what its version has."""
        return TaamctlError(
            f"{origin} is no {self.versions.kind} that this taamctl can read", self.again
        )


def _first(record: Record) -> Record:
    """Turn what a file from before versions were says into version 1: it is the same."""
    return {**record, "schema_version": 1}


def _first_evaluation(record: Record) -> Record:
    """Turn an evaluation from before versions were into one of version 1.

    The first ones had one routing, that of the `infer` section, and neither the grid of routings
    nor the AF of the final model: these are not defined.
    """
    routed = record.get("routed")
    if routed is None:
        asked = record["settings"]["infer"]
        routed = [asked["profile"], asked["metric"]]
    parts = {
        name: {
            "legacy_af": {"balanced": None, "micro": None},
            **part,
            "task_id": {"grid": {}, **part["task_id"]},
        }
        for name, part in record["parts"].items()
    }
    return _first({**record, "routed": routed, "parts": parts})


def _second(record: Record) -> Record:
    """Turn version 1 into 2, which says more: what it lacks is not known of the earlier file."""
    return {**record, "schema_version": 2}


def _third(record: Record) -> Record:
    """Turn version 2 into 3, which says more: what it lacks is not known of the earlier file."""
    return {**record, "schema_version": 3}


def _bank_named(record: Record) -> Record:
    """Turn format 1 of a bank's manifest into 2, which states its kind."""
    return {**record, "kind": "taamctl.bank", "format": 2}


EVALUATION = JsonKind(
    Versions("taamctl.evaluation", 3, {0: _first_evaluation, 1: _second, 2: _third}),
    "outputs/eval/<dataset>/<method>/seed-<n>/eval.json",
    "everything measured of one run",
    "make it again with: taamctl eval --force",
)
METRICS = JsonKind(
    Versions("taamctl.metrics", 1, {0: _first}),
    "outputs/eval/<dataset>/<method>/seed-<n>/metrics.json",
    "the headline numbers of one run",
    "make it again with: taamctl eval --force",
)
LENS = JsonKind(
    Versions("taamctl.lens", 2, {0: _first, 1: _second}),
    "outputs/lens/<dataset>/<method>/seed-<n>/lens.json",
    "query units, routers and protocols of one run",
    "make it again with: taamctl eval --lens --force",
)
REPORT = JsonKind(
    Versions("taamctl.report", 3, {0: _first, 1: _second, 2: _third}),
    "outputs/report/report.json",
    "the rows of a report",
    "make it again with: taamctl report --force",
)
BANK = JsonKind(
    Versions("taamctl.bank", 2, {1: _bank_named}),
    "<bank>/manifest.json",
    "what belongs to a generation of a bank, and the parameters that it was made with",
    "",
    key="format",
)
REPLAY = JsonKind(
    Versions("taamctl.stream", 1, {0: _first}),
    "outputs/stream/<dataset>/stream.json",
    "what is told of the replays of a graph",
    "make it again with: taamctl stream",
)
COMPARISON = JsonKind(
    Versions("taamctl.compare", 1, {0: _first}),
    "outputs/compare/compare.json",
    "methods over class orders, splits and seeds",
    "make it again with: taamctl compare",
)
REPRODUCED = JsonKind(
    Versions("taamctl.reproduce", 1, {0: _first}),
    "outputs/reproduce/<table>.json",
    "a table of figures beside printed ones",
    "make it again with: taamctl reproduce",
)
FORGOTTEN = JsonKind(
    Versions("taamctl.forget", 1, {0: _first}),
    "taamctl bank forget --statement <file>",
    "a statement of what a bank forgot",
    "",
)
ALL = (EVALUATION, METRICS, LENS, REPORT, BANK, REPLAY, COMPARISON, REPRODUCED, FORGOTTEN)
