"""Run methods, and ask a bank, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.core.plain_values import Plain

if TYPE_CHECKING:
    import pandas as pd

    from taamctl.bank.answers import Answers
    from taamctl.bank.bank import Bank

Names = str | Sequence[str] | None


def run(
    datasets: Names = None,
    methods: Names = None,
    seeds: int | Sequence[int] | None = None,
    *,
    settings: Mapping[str, Plain] | None = None,
    outputs: str | Path = "outputs",
    params: str | Path | None = None,
    data_root: str | Path | None = None,
    force: bool = False,
    quiet: bool = True,
) -> pd.DataFrame:
    """Walk all stages as `taamctl run` does, reuse what is already there, and return the results.

    Args:
        datasets, methods, seeds: one or several; None: those of the `run` section.
        settings: parameters that differ, such as `{"train.epochs": 50}`.
        outputs: folder of the artefacts; the report lies in its folder `report`.
        params: parameter file. None: ./params.yaml, else the packaged one.
        data_root: folder with raw data. None: TAAMCTL_DATA, else the cache.
        force: compute again even where nothing changed. quiet: say nothing on stderr.

    Returns:
        One row per run, as `load_results` has them.

    Raises:
        TaamctlError: whatever `taamctl run` refuses.

    >>> import taamctl
    >>> found = taamctl.run("synthetic", "linear_probe", 1, settings={"train.threads": 1})
    >>> found.shape[0], found.method[0], bool(found.aa_task_only[0] > 0.5)
    (1, 'linear_probe', True)
    """
    from taamctl.notebook.results_frame import load_results
    from taamctl.pipeline import walk

    changes = [f"{key}={_text(value)}" for key, value in (settings or {}).items()]
    grid = Grid(_listed(datasets), _listed(methods), _numbers(seeds))
    where = RawSettings(_path(params), changes, Path(outputs), _path(data_root))
    writing = Writing(force=force, quiet=quiet)
    context = make_context(grid, where, writing, check_methods=True)
    walk.whole(context)
    every = walk.runs(context)
    return load_results(outputs, *(sorted(set(column)) for column in zip(*every, strict=True)))


def predict(
    bank: Bank | str | Path,
    data: object,
    *,
    x: object = None,
    unknown: float | None = None,
    decide: str | None = None,
    **options: str | bool | Sequence[str],
) -> Answers:
    """Return a class for every node of what another library holds: arrays, a Data of PyG, a
    DGLGraph, a SciPy matrix with `x`, a DataFrame.

    Args:
        bank: an opened one, or its folder.
        data: as `graph_of` takes it, such as `{"x": x, "edge_index": edges}`; labels are not read.
        x: [N, F] features beside a SciPy matrix.
        unknown: share of nodes of known classes that may be called unknown; 0: never; None: as the
            bank was made. decide: `router`, `expert` or `soft`; None: as the bank was made.
        options: of `graph_of`.

    Raises:
        TaamctlError: no bank, no graph, or one that does not fit the bank.
    """
    from taamctl.bank.bank import load_bank
    from taamctl.importing.python_graphs import graph_of

    opened = load_bank(bank) if isinstance(bank, (str, Path)) else bank
    graph = graph_of(data, x=x, **options)  # type: ignore[arg-type]
    return opened.predict(graph, unknown=unknown, decide=decide)


def _listed(names: Names) -> list[str] | None:
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(names)


def _numbers(seeds: int | Sequence[int] | None) -> list[int] | None:
    if seeds is None:
        return None
    import numpy as np

    found: list[int] = np.atleast_1d(np.asarray(seeds)).tolist()  # NumPy's numbers become Python's
    return found


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _text(value: Plain) -> str:
    """Return a value as `--set` takes it."""
    import json

    return value if isinstance(value, str) else json.dumps(value)
