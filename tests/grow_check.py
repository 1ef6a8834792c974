"""Hold `taamctl bank update` and `forget` to banks of all nodes at once, on real data sets.

    TAAMCTL_DATA=/data python tests/grow_check.py citeseer photo computer debian

For every data set a bank is taught all nodes, and another one a half, with the rest as updates in
a random order. Then 1, 100 and a tenth of the nodes are forgotten, each by a bank that knew all,
and held to a bank that never saw them. Prints the largest difference of a logit of any node, how
many of the answers differ, and CPU seconds beside those of teaching anew; exit code 1 where a logit
differs by 1e-5 or more, or an answer does. `--tasks` is how many tasks the classes are cut into;
`--edges all` makes banks whose rows see the nodes of all tasks.
`--quick` gives the ridge, trains probes for one step, makes one update and does not verify banks.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.bank import add, store
from taamctl.bank.bank import load_bank
from taamctl.bank.config import from_params
from taamctl.bank.forget import forget
from taamctl.bank.graph_source import Source, from_dataset
from taamctl.bank.node_record import names_of
from taamctl.bank.update import update
from taamctl.bank.verify import verify
from taamctl.core.types import Given
from taamctl.features.raw_features import take_rows
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.params import params_file, sections
from taamctl.runtime.raw_files import data_root
from taamctl.stream.induce import message_edges

Array = np.ndarray[Any, Any]
LIMIT = 1e-5  # of a logit


def some(source: Source, rows: Array) -> Source:
    """Return the subgraph of some nodes, each with its name."""
    graph = source.graph
    names = np.array(names_of(graph), object)[rows]
    edges = to_scipy(graph.adjacency, np.int8)[rows][:, rows]
    part = replace(
        graph,
        adjacency=from_scipy(edges, binary=True),
        features=take_rows(graph.features, rows),
        labels=graph.labels[rows],
        given=Given(node_id=names),
    )
    return replace(source, graph=part)


def taught(folder: Path, source: Source, tasks: int, quick: bool, edges: str) -> Path:
    """Teach a bank all classes of a graph."""
    sets = ["bank.sums=class", f"bank.edges={edges}", "split.parts=drawn", "split.tasks=by_size"]
    sets += ["train.threads=2"]
    sets += [f"methods.linear_probe.iterations={1 if quick else 20}"]
    sets += ["bank.router.ridge=0.1"] * quick
    checked = sections.Params("check", params_file.read(params_file.PACKAGED, sets))
    store.create(folder, from_params(checked, "linear_probe", 1))
    add.add(folder, source, per_task=-(-len(source.graph.class_names) // tasks))
    return folder


def logits(folder: Path, source: Source) -> Array:
    """Return the regression's outputs for all nodes, with all edges between them."""
    bank, n = load_bank(folder), source.graph.num_nodes
    config = bank.config
    edges = message_edges(source.graph.adjacency, config.split.symmetrize, source.directed)
    assert bank.manifest.feature_norm is not None
    norm = bank.shared.norm(bank.manifest.feature_norm)
    every = add.propagated(source, edges, np.arange(n), np.zeros(n, np.int64), config, norm)
    hops = config.bank.router.hops
    return bank.router.scores(
        bank.shared.lift.profile({j: every.own()[j] for j in hops}, hops)
    ).numpy()


def timed(work: Callable[[], object]) -> float:
    """Return the CPU seconds that some work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def compared(what: str, one: Path, other: Path, source: Source, said: str, quick: bool) -> bool:
    """Print how far two banks are apart; return whether they are alike."""
    mine, right = logits(one, source), logits(other, source)
    apart = float(np.abs(mine - right).max())
    answers = int((mine.argmax(1) != right.argmax(1)).sum())
    bad = []
    if not quick:
        bad = [f.what for f in verify(one) if not f.good]
    print(f"{what:28} logits {apart:.1e}, {answers} answers, {said} {bad or ''}", flush=True)
    return apart < LIMIT and not answers and not bad


def checked(name: str, tasks: int, folder: Path, quick: bool, edges: str) -> bool:
    """Hold one data set to it."""
    source = from_dataset(name, data_root(None), None)
    labelled = np.flatnonzero(source.graph.labels >= 0)
    whole = some(source, labelled)
    n = len(labelled)
    rng = np.random.default_rng(0)
    folder = folder / name
    folder.mkdir()
    right = folder / "right"
    anew = timed(lambda: taught(right, whole, tasks, quick, edges))
    order = rng.permutation(n)
    grown = taught(folder / "grown", some(whole, np.sort(order[: n // 2])), tasks, quick, edges)
    spent = 0.0
    if not quick:
        spent = timed(lambda: update(grown, some(whole, order[: 3 * n // 4])))
    spent += timed(lambda: update(grown, some(whole, order)))
    figures = f"updates {spent:.1f} CPU s, teaching {anew:.1f}"
    fine = compared(f"{name}, updated", grown, right, whole, figures, quick)
    for count in (1, 100, n // 10):
        gone = rng.permutation(n)[:count]
        names = np.array(names_of(whole.graph), object)[gone].tolist()
        mine, never = folder / f"without-{count}", folder / f"never-{count}"
        shutil.copytree(right, mine)
        without = some(whole, np.setdiff1d(np.arange(n), gone))
        spent = timed(lambda mine=mine, names=names: forget(mine, whole, names))  # type: ignore[misc]
        anew = timed(
            lambda never=never, without=without: taught(never, without, tasks, quick, edges)
        )  # type: ignore[misc]
        figures = f"forgetting {spent:.1f} CPU s, teaching {anew:.1f}"
        fine &= compared(f"{name}, {count} forgotten", mine, never, whole, figures, quick)
        shutil.rmtree(mine)
        shutil.rmtree(never)
    shutil.rmtree(folder)
    return fine


def main() -> int:
    """Hold all named data sets to it."""
    warnings.simplefilter("ignore")  # of probes that are stopped early
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--edges", choices=("task", "all"), default="task")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fine = [
            checked(name, given.tasks, Path(folder), given.quick, given.edges)
            for name in given.datasets
        ]
    return int(not all(fine))


if __name__ == "__main__":
    sys.exit(main())
