"""Make every number of the README and the docs, and keep it as data in tests/golden/results.

    python tests/keep_results.py OUTPUTS                 # run everything and keep it
    python tests/keep_results.py OUTPUTS --to main       # no further than this step
    python tests/keep_results.py OUTPUTS --only-keep     # run nothing, keep what lies there
    python tests/keep_results.py OUTPUTS --stale         # which code changed since

It needs the raw files of Citeseer, Photo and Computer below the data root. Each step is a command
of `taamctl reproduce`, so that a run that is there is not made again: called again after a stop, it
goes on. What is there is kept after every step. `python tests/result_tables.py` then writes the
tables into the pages.

For a trial, name other data sets, seeds and settings, and a folder that is not the golden one:

    python tests/keep_results.py OUTPUTS --dataset synthetic --large synthetic --seed 1 \
        --set train.epochs=2 --into FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taamctl.pipeline import lens_lines
from taamctl.pipeline.printed_numbers import layout_of
from taamctl.report import lens_table, published, run_seconds
from taamctl.report.report_rows import run_row
from taamctl.runtime import provenance, reached_code
from taamctl.runtime.layout import Layout
from taamctl.runtime.stage_table import STAGES, TABLE

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "results"
THREE = ("citeseer", "photo", "computer")
SEEDS = (1, 2, 3)
LARGE = "debian"  # with the first seed alone
MEASURED = ("main", "ablation", "readings", "tried", "taskid", "sweeps")
PLAIN = ("params", "theory", "datasets")
DIGITS = 6  # of a fraction: ten times finer than what any text shows
Run = tuple[str, str, tuple[str, ...], int]  # data set, method, changed parameters, seed


@dataclass(frozen=True)
class Asked:
    """What is run, where, and where it is kept.

    Attributes:
        large: a data set that is run with the first seed alone.
        settings: changed parameters of every run, for a trial.
    """

    outputs: Path
    into: Path = GOLDEN
    datasets: tuple[str, ...] = THREE
    large: str = LARGE
    seeds: tuple[int, ...] = SEEDS
    settings: tuple[str, ...] = ()
    data_root: Path | None = None

    def common(self) -> list[str]:
        """Return the options of every command."""
        out = ["--outputs", str(self.outputs)]
        for setting in self.settings:
            out += ["--set", setting]
        if self.data_root is not None:
            out += ["--data-root", str(self.data_root)]
        return out


@dataclass(frozen=True)
class Step:
    """One command; `table` is the table that it leaves, `large` that it is about the large data
    set.
    """

    name: str
    table: str
    large: bool = False


STEPS = (  # what is read most comes first
    Step("main", "main"),
    Step("lens", "lens"),
    Step("ablation", "ablation"),
    Step("readings", "readings"),
    Step("large-readings", "readings", True),
    Step("large-lens", "lens", True),
    Step("tried", "tried"),
    Step("taskid", "taskid"),
    *(Step(name, name) for name in PLAIN),
    Step("memory", "memory"),
    Step("sweeps", "sweeps"),
)


def command(step: Step, asked: Asked) -> list[str]:
    """Return the command line of a step."""
    datasets, seeds = asked.datasets, asked.seeds
    if step.large:
        datasets, seeds = (asked.large,), asked.seeds[:1]
    named = [word for name in datasets for word in ("--dataset", name)]
    if step.table == "memory":
        script = ROOT / "tests" / "benchmarks" / "router_memory.py"
        out = [sys.executable, str(script), *named, "--outputs", str(asked.outputs)]
        out += ["--json", str(asked.outputs / "memory.json"), "--seed", str(seeds[0])]
        if asked.data_root is not None:
            out += ["--data-root", str(asked.data_root)]
        return out
    out = [sys.executable, "-m", "taamctl", "reproduce", step.table]
    if step.table == "params":
        return [*out, *asked.common()]  # every data set whose class sizes are on file
    for seed in seeds:
        named += ["--seed", str(seed)]
    return [*out, *named, *asked.common()]


def run(asked: Asked, last: str) -> None:
    """Run all steps to the one named, and keep what is there after each."""
    names = [step.name for step in STEPS]
    for at, step in enumerate(STEPS[: names.index(last) + 1]):
        line = command(step, asked)
        print(f"step {at + 1}/{len(STEPS)}: {shlex.join(line)}", file=sys.stderr, flush=True)
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        keep(asked)


def keep(asked: Asked) -> None:
    """Write what lies below the outputs folder into the kept files."""
    kept = Kept.found(asked)
    asked.into.mkdir(parents=True, exist_ok=True)
    for name, value in kept.files().items():
        (asked.into / name).write_text(_lines(value) + "\n", encoding="utf-8")


def _lines(value: Mapping[str, object]) -> str:
    """Return JSON with a line for every run, so that a difference can be read."""
    parts = []
    for key, item in value.items():
        shown = json.dumps(item, sort_keys=True)
        if isinstance(item, list):
            each = (json.dumps(entry, sort_keys=True) for entry in item)
            shown = "[\n" + ",\n".join(each) + "\n]"
        elif isinstance(item, dict):
            pairs = (
                f"{json.dumps(name)}: {json.dumps(entry, sort_keys=True)}"
                for name, entry in sorted(item.items())
            )
            shown = "{\n" + ",\n".join(pairs) + "\n}"
        parts.append(f"{json.dumps(key)}: {shown}")
    return "{\n" + ",\n".join(parts) + "\n}"


@dataclass
class Kept:
    """All that is kept.

    Attributes:
        versions: of every library behind a run. code: stage and plug-in -> digest of what makes it.
        settings: name -> the names of the sections behind a run, or a section's parameters.
        runs, lens: one entry per run, and per run and cell of the lens.
        plain: tables without runs, by name.
    """

    versions: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    lens: list[dict[str, Any]] = field(default_factory=list)
    plain: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def found(cls, asked: Asked) -> Kept:
        """Return what lies below the outputs folder."""
        kept = cls(versions=provenance.versions())
        for one in wanted(asked):
            layout = layout_of(asked.outputs, one[2])
            path = layout.file("eval", one[0], one[1], one[3])
            if path.is_file():
                kept.runs.append(kept.of_run(one, layout, path))
                seen = layout.file("lens", one[0], one[1], one[3])
                if not one[2] and seen.is_file():
                    kept.lens += _lens_cells(one, seen)
        for name in PLAIN:
            table = asked.outputs / "reproduce" / f"{name}.json"
            if table.is_file():
                kept.plain[name] = _short(json.loads(table.read_text(encoding="utf-8"))["rows"])
        memory = asked.outputs / "memory.json"
        if memory.is_file():
            kept.plain["memory"] = json.loads(memory.read_text(encoding="utf-8"))
        return kept

    def files(self) -> dict[str, dict[str, object]]:
        """Return file name -> content."""
        made: dict[str, object] = {"versions": self.versions, "settings": self.settings}
        return {
            "runs.json": {**made, "runs": self.runs},
            "lens.json": {"cells": self.lens},
            "plain.json": {"tables": self.plain},
            "code.json": {"stages": self.code},
        }

    def of_run(self, one: Run, layout: Layout, path: Path) -> dict[str, Any]:
        """Return one run's numbers, fractions; its settings and code go where all share them."""
        dataset, method, sets, seed = one
        row, validation = run_row(path), run_row(path, "val")
        for stage in STAGES[:-1]:
            plugin = {"datasets": dataset, "methods": method}.get(TABLE[stage].plugin, "")
            self._code_of(stage, plugin, layout.file(stage, dataset, method, seed))
        seconds = {
            f"{stage}_cpu_s": _rounded(run_seconds.of_run(layout, dataset, method, seed, stage), 3)
            for stage in run_seconds.STAGES
        }
        return {
            "dataset": dataset,
            "method": method,
            "set": list(sets),
            "seed": seed,
            "profile": row.profile,
            "scope": row.scope,
            "task_id": row.task_id,
            "aa": {scope: _rounded(value) for scope, value in row.aa_by_scope.items()},
            "af": {scope: _rounded(value) for scope, value in row.af_by_scope.items()},
            "bwt": _rounded(row.bwt),
            "legacy_af": _rounded(row.legacy_af),
            "id": _rounded(row.task_id_accuracy),
            "validation_id": _rounded(validation.task_id_accuracy),
            "memory_words": row.parameters.extra_paper,
            **seconds,
            "settings": self._settings_of(row.settings),
            "sha256": row.sha256,
        }

    def _settings_of(self, stages: Mapping[str, object]) -> str:
        """Note the parameters behind a run, each section once, and return their common name."""
        named = []
        for stage, value in stages.items():
            named.append(f"{stage}-{_digest(value)[:8]}")
            self.settings[named[-1]] = value
        name = _digest(named)[:8]
        self.settings[name] = named
        return name

    def _code_of(self, stage: str, plugin: str, path: Path) -> None:
        """Note the code that an artefact was made by.

        Raises:
            SystemExit: another run was made by another version of it.
        """
        record = json.loads(provenance.sidecar_of(path).read_text(encoding="utf-8"))
        name, made_by = f"{stage} {plugin}".strip(), _digest(record["key"]["code"])
        if self.code.setdefault(name, made_by) != made_by:
            raise SystemExit(f"{path} is of another version than the runs before it: run it again")


def wanted(asked: Asked) -> list[Run]:
    """Return every run that a table needs, each once, in the order of the steps."""
    found: dict[Run, None] = {}
    seeds = dict.fromkeys(asked.datasets, asked.seeds)
    seeds.setdefault(asked.large, asked.seeds[:1])
    for dataset in seeds:
        measured = [row for name in MEASURED for row in published.rows(name)]
        rows = [(row.method, row.sets) for row in measured if row.concerns(dataset)]
        rows += [(row.method, ()) for row in published.lens_rows()]
        for method, sets in rows:
            found |= {(dataset, method, sets, seed): None for seed in seeds[dataset]}
    return list(found)


def _lens_cells(one: Run, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the cells of a lens file that a row of the lens table shows."""
    digest = provenance.sha256(path)
    for cell in lens_table.rows([path]):
        shown = [row.row for row in published.lens_rows() if lens_lines.is_of(cell, row)]
        for name in shown:
            yield {
                "row": name,
                "dataset": one[0],
                "seed": one[3],
                "protocol": cell.protocol,
                "aa": _rounded(cell.aa),
                "id": _rounded(cell.task_id_accuracy),
                "memory_words": cell.memory_words,
                "sha256": digest,
            }


def _short(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table without what stands elsewhere or is nothing."""
    left_out = {"explanation", "seeds", "sha256"}
    return [
        {key: _rounded(value) for key, value in row.items() if value is not None}
        for row in ({k: v for k, v in row.items() if k not in left_out} for row in rows)
    ]


def _rounded(value: Any, digits: int = DIGITS) -> Any:
    return round(value, digits) if isinstance(value, float) else value


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def stale(into: Path) -> list[str]:
    """Return the stages, with the data set or method, whose code is another one than that of the
    kept runs.
    """
    kept = json.loads((into / "code.json").read_text(encoding="utf-8"))["stages"]
    found = []
    for name, digest in kept.items():
        stage, _, plugin = name.partition(" ")
        plugins = ((f"taamctl.{TABLE[stage].plugin}", plugin),) if plugin else ()
        if _digest(reached_code.reached((TABLE[stage].module,), plugins).code) != digest:
            found.append(name)
    return found


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("outputs", type=Path)
    parser.add_argument("--into", type=Path, default=GOLDEN)
    parser.add_argument("--dataset", action="append", default=None)
    parser.add_argument("--large", default=LARGE)
    parser.add_argument("--seed", type=int, action="append", default=None)
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--to", default=STEPS[-1].name, choices=[step.name for step in STEPS])
    parser.add_argument("--only-keep", action="store_true")
    parser.add_argument("--stale", action="store_true")
    given = parser.parse_args()
    asked = Asked(
        given.outputs,
        given.into,
        tuple(given.dataset or THREE),
        given.large,
        tuple(given.seed or SEEDS),
        tuple(given.settings),
        given.data_root,
    )
    if given.stale:
        changed = stale(given.into)
        print("\n".join(changed) or "nothing that made the kept results has changed")
        return int(bool(changed))
    if given.only_keep:
        keep(asked)
    else:
        run(asked, given.to)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
