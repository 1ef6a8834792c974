"""Results below an outputs folder as a pandas table and as figures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.core.errors import TaamctlError
from taamctl.report import collect, figure_data, figures, leading, lens_table
from taamctl.report.figure_data import Evidence
from taamctl.report.report_rows import RunRow, over_seeds, read_evaluation, row_of
from taamctl.report.same_scope import EVERY
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PLAIN = (
    *("dataset", "method", "title", "profile", "seed", "scope", "averaging", "split"),
    *("aa", "aa_low", "aa_high", "af", "bwt", "task_id", "task_id_accuracy"),
)


def load_results(
    outputs: str | Path = "outputs",
    datasets: Collection[str] | None = None,
    methods: Collection[str] | None = None,
    seeds: Collection[int] | None = None,
) -> pd.DataFrame:
    """Return evaluated runs, one row each; accuracies are fractions, NaN where not defined.

    Columns: data set, method, seed and how it was measured; `aa`, `aa_low`, `aa_high`, `af`, `bwt`
    in the method's own `scope`; `aa_all_seen`, `af_all_seen` and so on in every scope: to compare
    methods, use one of these; `aa_mixed` and `mixed_by` on one mixed graph, where a lens has it;
    `cost_words`; `train_seconds`; `sha256` of the eval.json.

    Args:
        outputs: the folder of the artefacts.
        datasets, methods, seeds: which runs; None: all that are there.

    Raises:
        TaamctlError: there is no such run.

    >>> import taamctl
    >>> found = taamctl.load_results()
    >>> sorted(found.columns)[:3]
    ['aa', 'aa_all_seen', 'aa_high']
    """
    import pandas

    layout = Layout(Path(outputs))
    paths = collect.evaluations(layout, datasets, methods, seeds)
    collect.require(paths, layout)
    return pandas.DataFrame([_record(path) for path in paths])


def _record(path: Path) -> dict[str, object]:
    row = row_of(read_evaluation(path), provenance.sha256(path))
    lenses, _ = lens_table.files([path])
    mixed = leading.of(lens_table.rows(lenses))
    return {
        **{name: getattr(row, name) for name in PLAIN},
        **{f"aa_{scope}": aa for scope, aa in row.aa_by_scope.items()},
        **{f"af_{scope}": af for scope, af in row.af_by_scope.items()},
        "aa_mixed": next((each.aa for each in mixed), None),
        "mixed_by": next((each.by for each in mixed), ""),
        "cost_words": row.parameters.extra_paper,
        "train_seconds": collect.training_seconds(path),
        "sha256": row.sha256,
    }


def figure(kind: str, dataset: str | None = None, outputs: str | Path = "outputs") -> Figure:
    """Return a figure of the report as a matplotlib object, to be changed and saved at will.

    Args:
        kind: `best`, `accuracy-matrix`, `accuracy-curve`, `first-task`, `task-id`,
            `accuracy-time`, `accuracy-memory` or `parameters`.
        dataset: which data set; None: the only one.
        outputs: the folder of the artefacts.

    Raises:
        TaamctlError: no such kind, no such data set, or several and none named.

    >>> import taamctl
    >>> taamctl.figure("accuracy-curve").axes[0].get_xlabel()
    'after task'
    """
    if kind not in figure_data.KINDS:
        raise TaamctlError(
            f"no kind of figure is called {kind[:60]!r}",
            f"there are: {', '.join(figure_data.KINDS)}",
        )
    layout = Layout(Path(outputs))
    every = collect.evaluations(layout)
    collect.require(every, layout)
    there = sorted({collect.run_id(path).dataset for path in every})
    wanted = dataset or there[0]
    if wanted not in there or (dataset is None and len(there) > 1):
        raise TaamctlError(
            f"which data set? {wanted[:60]!r} is not the only one, or not there",
            f'name one of these: dataset="{there[0]}" ({", ".join(there)})',
        )
    return figures.figure_of(
        kind, _evidence([p for p in every if collect.run_id(p).dataset == wanted])
    )


def _evidence(paths: list[Path]) -> Evidence:
    made = {provenance.sha256(path): read_evaluation(path) for path in paths}
    runs: dict[str, RunRow] = {sha: row_of(each, sha, scope=EVERY) for sha, each in made.items()}
    spent = {provenance.sha256(path): collect.training_seconds(path) for path in paths}
    seconds = {sha: value for sha, value in spent.items() if value is not None}
    lenses, _ = lens_table.files(paths)
    return Evidence(over_seeds(runs.values()), runs, seconds, leading.of(lens_table.rows(lenses)))
