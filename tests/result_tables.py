"""Write the tables of results in the README and the docs from the kept data.

    python tests/result_tables.py            # write them
    python tests/result_tables.py --check    # exit 1 where a table is another one

A table stands between `<!-- results: NAME -->` and `<!-- /results -->`. `TABLES` has the names; the
data is in tests/golden/results, which `python tests/keep_results.py` makes.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from taamctl.pipeline import printed_numbers
from taamctl.report import published, run_seconds
from taamctl.report.published import PublishedRow
from taamctl.report.report_tables import markdown_rows

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "results"
FILES = ("runs.json", "lens.json", "plain.json")
REGION = re.compile(
    r"(^<!-- results: ([\w-]+) -->\n)(.*?)(^<!-- /results -->$)", re.DOTALL | re.MULTILINE
)
LARGE = "debian"
NOT_THERE = "–"
MARKS = {"explained": "°", "not reproduced": "*"}
LEGEND = "°: differs, and an entry of the register accounts for it. *: not reproduced."
Group = tuple[str, str, tuple[str, ...]]  # data set, method, changed parameters
Value = tuple[float, float]  # mean and population standard deviation, per cent


@dataclass(frozen=True)
class Results:
    """The kept data."""

    runs: Sequence[Mapping[str, Any]]
    lens: Sequence[Mapping[str, Any]]
    plain: Mapping[str, Any]

    @classmethod
    def load(cls, folder: Path = GOLDEN) -> Results:
        """Return what is kept in a folder."""
        runs, lens, plain = (
            json.loads((folder / name).read_text(encoding="utf-8")) for name in FILES
        )
        return cls(runs["runs"], lens["cells"], plain["tables"])

    @cached_property
    def groups(self) -> dict[Group, list[Mapping[str, Any]]]:
        """The runs that differ in nothing but the seed."""
        found: dict[Group, list[Mapping[str, Any]]] = {}
        for run in self.runs:
            found.setdefault((run["dataset"], run["method"], tuple(run["set"])), []).append(run)
        return found

    @cached_property
    def datasets(self) -> list[str]:
        """The data sets that have several seeds, or all where none has."""
        seeds: dict[str, set[int]] = {}
        for run in self.runs:
            seeds.setdefault(run["dataset"], set()).add(run["seed"])
        several = [name for name, known in seeds.items() if len(known) > 1]
        return several or list(seeds)

    def of(self, dataset: str, row: PublishedRow) -> list[Mapping[str, Any]]:
        """Return the runs of a row, over seeds; none where it was not run."""
        return self.groups.get((dataset, row.method, row.sets), [])


def headline(run: Mapping[str, Any], metric: str) -> float | None:
    """Return a run's AA or AF in its own scope, or another number of it; a fraction."""
    value = run[metric]
    return value[run["scope"]] if isinstance(value, Mapping) else value


def over_seeds(runs: Sequence[Mapping[str, Any]], metric: str) -> Value | None:
    """Return mean and deviation in per cent; None without runs, or where one has no value."""
    values = [headline(run, metric) for run in runs]
    if not values or None in values:
        return None
    known = [100 * value for value in values if value is not None]
    return statistics.fmean(known), statistics.pstdev(known)


def record(results: Results, row: PublishedRow, dataset: str, metric: str) -> dict[str, Any]:
    """Return a cell with its verdict, as `taamctl reproduce` has it."""
    runs = results.of(dataset, row)
    value, std = over_seeds(runs, metric) or (None, 0.0)
    legacy: tuple[float | None, float] = (None, 0.0)
    if metric == "af":
        legacy = over_seeds(runs, "legacy_af") or legacy
    return printed_numbers.record_of(
        row, dataset, metric, value, std, missing=not runs, legacy=legacy, runs=max(1, len(runs))
    )


def number(value: float | None, std: float | None = None) -> str:
    """Return `45.2 ± 4.8`, without a deviation where there is none."""
    if value is None:
        return NOT_THERE
    shown = f"{round(value, 1) + 0.0:.1f}"
    return shown if std is None else f"{shown} ± {std:.1f}"


def title(dataset: str) -> str:
    """Return a data set's name as it is written."""
    return dataset.capitalize()


def readings(results: Results) -> list[str]:
    """TAAM under its readings, and the controls: AA."""
    shown = [*results.datasets, LARGE]
    columns = ["method (reading, logit scope)", *map(title, results.datasets)]
    columns += [f"{title(LARGE)} (seed 1)", "printed, in this order"]
    lines = []
    for row in published.rows("readings"):
        cells = [_mean(results.of(dataset, row)) for dataset in shown]
        printed = [row.cells.get((dataset, "aa")) for dataset in results.datasets]
        stated = ", ".join(f"{cell.value:.1f}" for cell in printed if cell is not None)
        lines.append([row.row, *cells, stated])
    return markdown_rows(columns, lines)


def _mean(runs: Sequence[Mapping[str, Any]], metric: str = "aa") -> str:
    value = over_seeds(runs, metric)
    if value is None:
        return NOT_THERE
    return number(*value) if len(runs) > 1 else number(value[0])


def against_paper(table: str) -> Callable[[Results], list[str]]:
    """Return what makes a table of AA and, in brackets, AF beside the printed ones."""

    def made(results: Results) -> list[str]:
        columns = ["row"]
        for dataset in results.datasets:
            columns += [title(dataset), "paper"]
        averaged = table in printed_numbers.AVERAGED
        columns += ["mean", "paper"] * averaged
        lines = []
        for row in published.rows(table):
            line = [row.row, *(cell for d in results.datasets for cell in _pair(results, row, d))]
            lines.append([*line, *(_averages(results, row) * averaged)])
        return [*markdown_rows(columns, lines), "", LEGEND]

    return made


def _pair(results: Results, row: PublishedRow, dataset: str) -> tuple[str, str]:
    """Return our cell and the printed one."""
    aa, af = (record(results, row, dataset, metric) for metric in ("aa", "af"))
    ours = _marked(aa, number(aa["ours"], aa["ours_std"]))
    if af["ours"] is not None:
        ours += f" ({_marked(af, number(af['ours']))})"
    paper = number(aa["paper"], aa["paper_std"])
    if af["paper"] is not None:
        paper += f" ({number(af['paper'])})"
    return ours, paper


def _marked(cell: Mapping[str, Any], shown: str) -> str:
    return shown + MARKS.get(cell["verdict"], "") if cell["ours"] is not None else shown


def _averages(results: Results, row: PublishedRow) -> list[str]:
    """Return the means of AA over the data sets, ours and the printed ones."""
    ours = [record(results, row, dataset, "aa")["ours"] for dataset in results.datasets]
    printed = [row.cells.get((dataset, "aa")) for dataset in results.datasets]
    out = []
    for values in (ours, [cell and cell.value for cell in printed]):
        complete = values and None not in values
        out.append(number(statistics.fmean(values)) if complete else NOT_THERE)
    return out


def seconds(results: Results) -> list[str]:
    """CPU seconds of training and inference of the main table's rows."""
    lines = []
    for row in published.rows("main"):
        cells = []
        for dataset in results.datasets:
            runs = results.of(dataset, row)
            means = (_mean_of(runs, f"{stage}_cpu_s") for stage in run_seconds.STAGES)
            cells.append(run_seconds.text(*means))
        lines.append([row.row, *cells])
    columns = ["training / inference, CPU s", *map(title, results.datasets)]
    return markdown_rows(columns, lines)


def _mean_of(runs: Sequence[Mapping[str, Any]], key: str) -> float | None:
    known = [run[key] for run in runs if run[key] is not None]
    return statistics.fmean(known) if known else None


def one_metric(table: str, metric: str) -> Callable[[Results], list[str]]:
    """Return what makes a table of one number per row and data set."""

    def made(results: Results) -> list[str]:
        lines = []
        for row in published.rows(table):
            cells = (_mean(results.of(dataset, row), metric) for dataset in results.datasets)
            lines.append([row.row, *cells])
        return markdown_rows(["row", *map(title, results.datasets)], lines)

    return made


def lens(results: Results) -> list[str]:
    """AA of grouped and of mixed test graphs, and the memory of a method."""
    shown = [*results.datasets, LARGE]
    lines = []
    for row in published.lens_rows():
        cells, memory = [], []
        for dataset in shown:
            own = [c for c in results.lens if (c["row"], c["dataset"]) == (row.row, dataset)]
            both = (_lens_mean(own, protocol) for protocol in ("grouped", "mixed"))
            cells.append(" / ".join(map(number, both)))
            memory += [f"{c['memory_words'] / 1e6:.2g}" for c in own[:1]]
        words = ", ".join(memory) + (" + router" if row.router == "ridge" else "")
        lines.append([row.row, *cells, words])
    columns = ["method, router, unit", *map(title, results.datasets)]
    return markdown_rows([*columns, f"{title(LARGE)} (seed 1)", "memory M"], lines)


def _lens_mean(cells: Sequence[Mapping[str, Any]], protocol: str) -> float | None:
    known = [100 * cell["aa"] for cell in cells if cell["protocol"] == protocol]
    return statistics.fmean(known) if known else None


EXPECTED = {  # rows of the lens table that the README shows, and what it says of them
    "analytic": "`analytic`: ridge regression from sums, keeps no node",
    "linear_probe, ridge, node": "`linear_probe`: a logistic regression per task, ridge router",
    "taam, ridge, node": "`taam`: a modulator per task, ridge router",
    "joint": "`joint`: one network that sees all tasks at once",
}


def expected(results: Results) -> list[str]:
    """AA on mixed graphs alone, of a few methods."""
    shown = [*results.datasets, LARGE]
    lines = []
    for name, words in EXPECTED.items():
        cells = []
        for dataset in shown:
            own = [c for c in results.lens if (c["row"], c["dataset"]) == (name, dataset)]
            cells.append(number(_lens_mean(own, "mixed")))
        lines.append([words, *cells])
    return markdown_rows(["method", *map(title, shown)], lines)


MEMORIES = {
    "diagonal": "the diagonal alone",
    "rank 16": "16 directions a task",
    "rank 64": "64 directions a task",
    "default": "64 directions a task, filled up (the default)",
    "projected to 256": "the whole matrix, projected to 256",
    "projected to 512": "the whole matrix, projected to 512",
    "no fill": "the whole matrix",
    "filled": "the whole matrix, filled up",
}
FILLED = {"default": "rank 64"}  # the same where features are many: nothing is filled up


def memory(results: Results) -> list[str]:
    """Millions of words kept, and AA on the mixed graph, of the closed form."""
    kept = results.plain.get("memory", {})
    lines = []
    for name, shown in MEMORIES.items():
        cells = []
        for dataset in results.datasets:
            of = kept.get(dataset, {})
            found = of.get(name)
            if found is None or found == of.get(FILLED.get(name, "")):
                cells.append(NOT_THERE)
            else:
                cells.append(f"{found['words'] / 1e6:.2g}: {100 * found['mixed test']:.1f}")
        lines.append([shown, *cells])
    columns = ["M words kept: mixed AA (seed 1)", *map(title, results.datasets)]
    return markdown_rows(columns, lines)


def plain(name: str, columns: Sequence[str]) -> Callable[[Results], list[str]]:
    """Return what makes a table that was kept as it is."""

    def made(results: Results) -> list[str]:
        rows = results.plain.get(name, [])
        return markdown_rows(columns, [[_text(row.get(key)) for key in columns] for row in rows])

    return made


def _text(value: object) -> str:
    if value is None:
        return NOT_THERE
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


SPREAD = ("dataset", "task", "nearest", "V raw", "V_intra", "D_inter", "bound")
TABLES: dict[str, Callable[[Results], list[str]]] = {
    "readings": readings,
    "main": against_paper("main"),
    "ablation": against_paper("ablation"),
    "tried": against_paper("tried"),
    "seconds": seconds,
    "lens": lens,
    "expected": expected,
    "memory": memory,
    "taskid": one_metric("taskid", "id"),
    "sweeps": one_metric("sweeps", "aa"),
    "params": plain("params", ("row", "dataset", "paper", "ours", "verdict")),
    "theory": plain("theory", (*SPREAD, "energy X", "energy S2X")),
    "datasets": plain("datasets", ("dataset", "what", "printed", "counted", "difference")),
}


def pages(root: Path = ROOT) -> Iterator[Path]:
    """Yield the README and every page of the docs."""
    yield root / "README.md"
    yield from sorted((root / "taamctl" / "docs").glob("*.md"))


def filled(text: str, results: Results) -> str:
    """Return a page with its tables made anew.

    Raises:
        KeyError: a mark names a table that there is not.
    """
    return REGION.sub(lambda m: m[1] + "\n".join(TABLES[m[2]](results)) + "\n" + m[4], text)


def differing(text: str, results: Results) -> list[str]:
    """Return the names of the tables of a page that are not what the kept data makes."""
    made = dict(TABLES)
    return [m[2] for m in REGION.finditer(text) if m[3] != "\n".join(made[m[2]](results)) + "\n"]


def main() -> int:
    """Write or check all pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--kept", type=Path, default=GOLDEN)
    given = parser.parse_args()
    results = Results.load(given.kept)
    wrong = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        names = differing(text, results)
        for name in names:
            print(f"{page.relative_to(ROOT)}: {name} {'differs' if given.check else 'written'}")
        wrong += len(names)
        if names and not given.check:
            page.write_text(filled(text, results), encoding="utf-8")
    return int(bool(wrong and given.check))


if __name__ == "__main__":
    raise SystemExit(main())
