"""Measure how honest a bank's answers are, on real data sets with whole tasks held out.

    TAAMCTL_DATA=/data python tests/honest_check.py citeseer photo computer debian
    python tests/honest_check.py photo --seed 1 --keep tests/golden/honest_answers.json

For every seed, 60 % of a class's nodes are trained on, 20 % calibrate, and 20 % are asked about: as
one graph of all tasks, with all edges between them. Tasks are of two classes, in the order of the
data set's file (`--classes file`) or in a random one (`--classes random`); without it, in both.
Every task (at most `--most`) is held out in turn. Printed are means over these, per data set:

* AUROC: how well unlike-ness tells nodes of the held-out task from those of known ones.
* false alarms: % of the nodes of known classes that are called unknown, where 5 % were asked for;
  of all runs the least and most. hits: % of the held-out task's nodes.
* ECE and log loss of the probability, with the temperature that was fitted, and (before) with the
  one that the bank was made with; of nodes of known classes.
* coverage: % of the sets at 90 % that hold the right class, the least of a task, and their size.
* stream: false alarms after every task of a stream that grows, of the nodes of its classes alone:
  the least and most.

`--keep` adds the figures to a file; honest_table.py prints the table of docs/honest-answers.md from
it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from grow_check import some
from honest_table import lines

from taamctl.bank import add, change, store
from taamctl.bank.bank import load_bank
from taamctl.bank.config import from_params
from taamctl.bank.graph_source import Source, from_dataset
from taamctl.bank.predict_options import PredictOptions
from taamctl.bank.reliability import area, reliability
from taamctl.params import params_file, sections
from taamctl.runtime.raw_files import data_root

Array = np.ndarray[Any, Any]
ORDERS = ("file", "random")  # of the classes
OPTIONS = PredictOptions("router", unknown=0.05, sets=0.9, probabilities=True)


def drawn(source: Source, seed: int, classes: str) -> tuple[Source, Source, list[list[str]]]:
    """Return what is learned, what is asked about, and the tasks of a seed."""
    graph, rng = source.graph, np.random.default_rng(seed)
    parts = np.full(graph.num_nodes, -1)
    for label in range(len(graph.class_names)):
        nodes = rng.permutation(np.flatnonzero(graph.labels == label))
        ends = (np.array([0.6, 0.8]) * len(nodes)).astype(int)
        for part, some_nodes in enumerate(np.split(nodes, ends)):
            parts[some_nodes] = part
    rows = np.flatnonzero((parts == 0) | (parts == 1))
    learned = some(source, rows)
    given = replace(learned.graph.given, part=parts[rows].astype(np.int8))
    learned = replace(learned, graph=replace(learned.graph, given=given))
    order = list(graph.class_names)
    if classes == "random":
        order = [order[c] for c in rng.permutation(len(order))]
    order = [name for name in order if (graph.labels == graph.class_names.index(name)).sum() > 9]
    tasks = [order[at : at + 2] for at in range(0, len(order) - 1, 2)]
    tasks[-1] += order[2 * len(tasks) :]
    return learned, some(source, np.flatnonzero(parts == 2)), tasks


def asked(folder: Path, source: Source) -> dict[str, float]:
    """Return the figures of one bank on one graph."""
    found = load_bank(folder).predict(source, options=OPTIONS)
    names = np.array(source.graph.class_names)[source.graph.labels]
    known = np.isin(names, found.class_names)
    made = {"false": 100 * float(found.unknown[known].mean())}
    if not known.all():
        made["hits"] = 100 * float(found.unknown[~known].mean())
        made["auroc"] = 100 * area(found.novelty[known], found.novelty[~known])
    place = {name: at for at, name in enumerate(found.class_names)}
    label = np.array([place.get(name, -1) for name in names])
    of = reliability(found, label)
    assert of is not None
    made |= {"ece": 100 * of.ece, "ece_before": 100 * of.ece_before}
    made |= {"loss": of.log_loss, "loss_before": of.log_loss_before}
    assert of.coverage is not None and of.set_size is not None
    return made | {
        "coverage": 100 * of.coverage,
        "coverage_least": 100 * min(of.task_coverage.values()),
        "size": of.set_size,
    }


def measured(name: str, seed: int, classes: str, most: int, folder: Path) -> dict[str, Any]:
    """Return the figures of one data set and seed."""
    learned, query, tasks = drawn(from_dataset(name, data_root(None), None), seed, classes)
    sets = ["split.parts=as_given", "train.threads=1", "methods.linear_probe.iterations=1"]
    checked = sections.Params("check", params_file.read(params_file.PACKAGED, sets))
    bank = folder / f"{name}-{seed}"
    store.create(bank, from_params(checked, "linear_probe", 1))
    labels = np.array(query.graph.class_names)[query.graph.labels]
    stream: list[float] = []
    for at, names in enumerate(tasks):
        add.add(bank, learned, classes=names, per_task=len(names))
        if at and at in np.linspace(1, len(tasks) - 1, most).astype(int):
            alone = np.flatnonzero(np.isin(labels, [c for task in tasks[: at + 1] for c in task]))
            stream.append(asked(bank, some(query, alone))["false"])
    runs = []
    for number in np.unique(np.linspace(1, len(tasks), most).astype(int)).tolist():
        change.remove(bank, number)
        runs.append(asked(bank, query))
        change.rollback(bank)
    shutil.rmtree(bank)
    of = {"dataset": name, "classes": classes, "seed": seed}
    return of | {"stream": stream, "runs": runs}


def main() -> int:
    """Measure all named data sets."""
    warnings.simplefilter("ignore")  # of probes that are stopped early
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--classes", choices=ORDERS, action="append")
    parser.add_argument("--most", type=int, default=6)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    made = []
    orders, seeds = given.classes or ORDERS, given.seed or (0, 1, 2)
    for name, classes, seed in product(given.datasets, orders, seeds):
        with tempfile.TemporaryDirectory() as folder:
            made.append(measured(name, seed, classes, given.most, Path(folder)))
        print("\n".join(lines(made[-1:])), flush=True)
        if given.keep:
            _keep(given.keep, made[-1])
    print("\n".join(lines(made)))
    return 0


def _keep(path: Path, made: Mapping[str, Any]) -> None:
    """Add the figures of a data set, order and seed to a file, in the place of earlier ones."""
    kept = []
    if path.is_file():
        kept = json.loads(path.read_text(encoding="utf-8"))
    named = itemgetter("dataset", "classes", "seed")
    kept = [each for each in kept if named(each) != named(made)]
    kept = sorted([*kept, made], key=named)
    rounded = json.loads(json.dumps(kept), parse_float=lambda text: round(float(text), 4))
    path.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
