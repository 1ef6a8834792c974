"""The lens section: AA and task-ID accuracy for every query unit, router and protocol, over
seeds, as tables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import msgspec

from taamctl.core.errors import TaamctlError
from taamctl.core.json_kinds import LENS
from taamctl.evaluation.record import Number
from taamctl.params.recorded_params import settings_in_full
from taamctl.report import setting_names
from taamctl.report.collect import run_id
from taamctl.report.over_runs import added, mean_std, means
from taamctl.report.report_rows import without_seed
from taamctl.report.report_tables import csv_text, markdown_rows
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

BEHIND = ("split", "precompute", "train")  # the stages that a lens file is made from
UNROUTED = ("none", "given")
OWN = "run: "  # before the routing that the run itself used
NOTES = (
    "AA in per cent after the last task, on test and on val (validation), class-balanced, in the "
    "method's own logit scope; in brackets the share of nodes that got the right task. ± is the "
    "population standard deviation over seeds.",
    "grouped: a query graph holds one task's nodes. mixed: all tasks' nodes in one induced graph, "
    "edges between tasks kept.",
    "graph, component, batch B, node: what one task-ID decision is made for. Batches are of nodes "
    "in random order, so in a mixed graph a batch mixes tasks.",
    "run: the routing that the run itself used; on a grouped graph its AA is the run's. amp: "
    "nearest AMP prototype by cosine. class: nearest class mean. gaussian: shared covariance. "
    "ridge: regression in closed form. soft: the best of several tasks' experts, each within its "
    "own classes. smoothed: posterior averaged over the edges. –: no task ID is used. memory M: "
    "words in millions that the method keeps (parameters, sums and stored rows), the router's own "
    "not counted.",
    "[...]: rows of one method whose parameters differ; lens.csv names them by the same letters.",
    "One vote for a graph that mixes tasks gives all but one task's nodes to a wrong expert: where "
    "tasks may mix, decide per node.",
)


@dataclass(frozen=True)
class Setting:
    """What one cell of the lens was measured for; `settings` is a digest of all parameters."""

    dataset: str
    method: str
    title: str
    profile: str
    scope: str
    memory_words: int
    averaging: str
    protocol: str
    part: str
    router: str
    mode: str
    unit: str
    size: int
    settings: str

    @property
    def name(self) -> str:
        """The method, with its reading where it has several."""
        return f"{self.method} ({self.profile})" if self.profile else self.method


@dataclass(frozen=True)
class LensRow(Setting):
    """One cell over seeds: means and population standard deviations, as fractions.

    Attributes:
        aa_low, aa_high: ends of the 95 % interval that the nodes leave open, averaged; None where
            not measured.
        class_recall: [C]; empty where not measured.
        confused: true class, answered class, nodes over all seeds, most first.
        sha256: of the lens files, in the order of `seeds`.
        changes: how the parameters differ from the packaged ones.
    """

    seeds: list[int]
    aa: Number
    aa_std: Number
    aa_micro: Number
    aa_micro_std: Number
    task_id_accuracy: Number
    task_id_accuracy_std: Number
    aa_low: Number = None
    aa_high: Number = None
    class_recall: list[Number] = field(default_factory=list)
    confused: list[list[int]] = field(default_factory=list)
    sha256: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


NOT_IN_CSV = ("seeds", "class_recall", "confused", "sha256", "changes")


@dataclass(frozen=True)
class _Cell:
    """One cell of a lens file."""

    protocol: str
    part: str
    router: str
    mode: str
    unit: str
    size: int
    aa: Number
    aa_micro: Number
    task_id_accuracy: Number
    aa_low: Number = None
    aa_high: Number = None
    class_recall: list[Number] = field(default_factory=list)
    confused: list[list[int]] = field(default_factory=list)


_Member = tuple[int, _Cell, str]  # seed, cell, sha256 of the file


@dataclass(frozen=True)
class _File:
    """A lens file: the cells of one run."""

    dataset: str
    method: str
    seed: int
    title: str
    profile: str
    scope: str
    memory_words: int
    averaging: str
    settings: dict[str, Any]
    cells: list[_Cell]


def files(evaluations: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the lens files of the very models that were evaluated, and of every other one what is
    to be said.

    Args:
        evaluations: the eval.json files.
    """
    shown, left_out = [], []
    for evaluation in evaluations:
        run = run_id(evaluation)
        layout = Layout(evaluation.parents[4])
        path = layout.file("lens", *run)
        if not path.is_file():
            continue
        if _is_present(path, layout, run):
            shown.append(path)
            continue
        where = "" if layout.root == Path("outputs") else f" --outputs {layout.root}"
        left_out.append(
            f"the lens of {run.dataset} {run.method} seed {run.seed} is not known to be of the "
            "present model and is left out; renew it with: taamctl eval --lens --dataset "
            f"{run.dataset} --method {run.method} --seed {run.seed}{where}"
        )
    return shown, left_out


def _is_present(path: Path, layout: Layout, run: tuple[str, str, int]) -> bool:
    """Tell whether a lens file was made from the split, the features and the model that are there
    now.

    Where one of these files is gone, the record of what infer.h5 was made from stands in for it.
    """
    made_from = _inputs(path)
    if made_from is None:
        return False
    inferred = layout.file("infer", *run)
    recorded = (_inputs(inferred) or {}) if inferred.is_file() else {}
    for stage in (*BEHIND, "infer"):
        file = layout.file(stage, *run)
        if stage == "infer" and file.name not in made_from:
            continue  # from before the lens showed the run's own routing
        now = _digest_now(file) if file.is_file() else recorded.get(file.name)
        if now is None or now != made_from.get(file.name):
            return False
    return True


def _digest_now(file: Path) -> str:
    known = _record(file).get("outputs", {}).get(file.name)
    return provenance.digest_of(file, known)


def _inputs(path: Path) -> dict[str, str] | None:
    """Return the recorded checksums of what an artefact was made from, by file name; None where
    there is no record.
    """
    key = _record(path).get("key")
    found = key.get("inputs") if isinstance(key, dict) else None
    return {Path(n).name: sha256 for n, sha256 in found.items()} if found else None


def _record(path: Path) -> dict[str, Any]:
    try:
        record = atomic_files.read_json(provenance.sidecar_of(path))
    except (TaamctlError, OSError):
        return {}
    return record if isinstance(record, dict) else {}


def rows(paths: Sequence[Path]) -> list[LensRow]:
    """Return one row per cell, over seeds.

    Raises:
        TaamctlError: a file that cannot be read.
    """
    groups: dict[tuple[str, Setting], list[_Member]] = {}
    changed: dict[str, list[str]] = {}
    for path in paths:
        made = _read(path)
        sha256 = provenance.sha256(path)
        full = settings_in_full(made.settings, made.method)
        settings = json.dumps(without_seed(full), sort_keys=True)
        changed[settings] = setting_names.changes(full, made.dataset, made.method)
        digest = hashlib.sha256(settings.encode()).hexdigest()[:8]
        for cell in made.cells:
            setting = Setting(
                dataset=made.dataset,
                method=made.method,
                title=made.title,
                profile=made.profile,
                scope=made.scope,
                memory_words=made.memory_words,
                averaging=made.averaging,
                protocol=cell.protocol,
                part=cell.part,
                router=cell.router,
                mode=cell.mode,
                unit=cell.unit,
                size=cell.size,
                settings=digest,
            )
            groups.setdefault((settings, setting), []).append((made.seed, cell, sha256))
    return [
        replace(_merged(setting, members), changes=changed[settings])
        for (settings, setting), members in groups.items()
    ]


def _read(path: Path) -> _File:
    try:
        record = LENS.read(atomic_files.read_json(path, "taamctl eval --lens"), str(path))
        made = msgspec.convert(record, _File)
        without_seed(made.settings)
    except (msgspec.ValidationError, KeyError, AttributeError):
        raise TaamctlError(
            f"{path} is no lens file that this taamctl can read",
            "make it again with: taamctl eval --lens --force",
        ) from None
    return made


def _merged(setting: Setting, found: Sequence[_Member]) -> LensRow:
    members = sorted(found, key=lambda member: member[0])
    cells = [cell for _, cell, _ in members]
    aa, aa_std = mean_std([cell.aa for cell in cells])
    micro, micro_std = mean_std([cell.aa_micro for cell in cells])
    right, right_std = mean_std([cell.task_id_accuracy for cell in cells])
    return LensRow(
        **asdict(setting),
        seeds=[seed for seed, _, _ in members],
        aa=aa,
        aa_std=aa_std,
        aa_micro=micro,
        aa_micro_std=micro_std,
        task_id_accuracy=right,
        task_id_accuracy_std=right_std,
        aa_low=mean_std([cell.aa_low for cell in cells])[0],
        aa_high=mean_std([cell.aa_high for cell in cells])[0],
        class_recall=means([cell.class_recall for cell in cells]),
        confused=added([cell.confused for cell in cells]),
        sha256=[sha256 for _, _, sha256 in members],
    )


def unit_names(found: Sequence[LensRow], most: int) -> list[tuple[str, int]]:
    """Return the units that the rows have, smallest first, of the batches at most `most`, evenly
    chosen.
    """
    batches = sorted({r.size for r in found if r.unit == "batch"}, reverse=True)
    if len(batches) > most:
        batches = [batches[round(i * (len(batches) - 1) / max(1, most - 1))] for i in range(most)]
    there = {r.unit for r in found}
    every = [("node", 0), *(("batch", b) for b in batches[::-1]), ("component", 0), ("graph", 0)]
    return [unit for unit in every if unit[0] in there]


def table(
    found: Sequence[LensRow], decimals: int, most: int = 9
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return column names and lines: one line per (data set, method, protocol, router, mode,
    part), validation below test, a column per unit.
    """
    units = unit_names(found, most)
    lines: dict[tuple[str, ...], dict[tuple[str, int], str]] = {}
    settings: dict[tuple[str, str], set[str]] = {}
    for r in found:
        settings.setdefault((r.dataset, r.method), set()).add(r.settings)
    for r in _in_order(found):
        name = r.name
        if len(settings[r.dataset, r.method]) > 1:
            name += f" [{r.settings}]"
        memory = f"{r.memory_words / 1e6:.2f}"
        key = (r.dataset, name, r.protocol, _router(r), r.part, memory)
        lines.setdefault(key, {})[r.unit, r.size] = _cell(r, decimals)
    columns = (
        "dataset",
        "method",
        "protocol",
        "router",
        "part",
        *(f"batch {n}" if n else kind for kind, n in units),
        "memory M",
    )
    return columns, [
        (*key[:-1], *(cells.get(u, "") for u in units), key[-1]) for key, cells in lines.items()
    ]


def _in_order(found: Sequence[LensRow]) -> list[LensRow]:
    """Return the rows as they came, of a protocol the run's own routing first, and of a router
    validation after test.
    """
    ranks: dict[object, int] = {}

    def rank(what: object) -> int:
        return ranks.setdefault(what, len(ranks))

    def place(row: LensRow) -> tuple[int, ...]:
        of = (row.dataset, row.name, row.settings)
        other = not row.router.startswith(OWN)
        router = (row.router, row.mode)
        return rank(of), rank((of, row.protocol)), other, rank(router), row.part != "test"

    return sorted(found, key=place)


def _router(row: LensRow) -> str:
    if row.router == "none":
        return "–"
    if row.router == "given" or row.mode == "hard":
        return row.router
    return f"{row.router}, {row.mode}"


def _cell(row: LensRow, decimals: int) -> str:
    text = "–"
    if row.aa is not None:
        text = f"{100 * row.aa:.{decimals}f}"
        if len(row.seeds) > 1 and row.aa_std is not None:
            text += f" ± {100 * row.aa_std:.{decimals}f}"
    if row.task_id_accuracy is not None:
        text += f" ({100 * row.task_id_accuracy:.{decimals}f})"
    return text


def markdown(found: Sequence[LensRow], decimals: int, left_out: Sequence[str] = ()) -> str:
    """Return the section as Markdown; empty without rows and without anything left out."""
    if not found:
        return "".join(f"\n{line[:1].upper()}{line[1:]}.\n" for line in left_out)
    out = ["", "## Lens: query units, routers and protocols", ""]
    out += markdown_rows(*table(found, decimals))
    return "\n".join([*out, "", *NOTES, *left_out]) + "\n"


def comma_separated(found: Sequence[LensRow]) -> str:
    """Return all rows, validation too, as CSV with unrounded fractions."""
    names = [each.name for each in fields(LensRow) if each.name not in NOT_IN_CSV]
    lines = [
        [*(getattr(row, name) for name in names), " ".join(map(str, row.seeds))] for row in found
    ]
    return csv_text([*names, "seeds"], lines)
