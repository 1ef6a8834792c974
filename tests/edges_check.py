"""Measure what edges between tasks are worth in the sums of a bank (`bank.edges`).

    TAAMCTL_DATA=/data python tests/edges_check.py citeseer photo computer debian --splits 42 1 2

A bank of `analytic` learns the training nodes of a split, two classes per task, one task after the
other, each time from the graph of all of them. It answers the test nodes in one graph, with the
edges between tasks. Prints class-balanced accuracy in per cent and CPU seconds of learning.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from grow_check import some

from taamctl.bank import add, store
from taamctl.bank.bank import load_bank
from taamctl.bank.config import from_params
from taamctl.bank.graph_source import Source, from_dataset
from taamctl.core.data_set import data_set
from taamctl.params import params_file, sections
from taamctl.params.split_params import SplitParams
from taamctl.runtime.raw_files import data_root
from taamctl.stream.task_split import facts_of, make_split

SETS = ("bank.sums=class", "bank.val_rows=0", "split.parts=drawn", "split.tasks=by_size")
# all but a hundredth of the nodes are learned: the others would only set thresholds
SETS += ("split.train=0.79", "split.val=0.01", "split.test=0.2", "train.threads=1")


def parts(name: str, seed: int) -> tuple[Source, Source]:
    """Return the graphs of all training and of all test nodes of a split."""
    checked = sections.Params("split", params_file.read(params_file.PACKAGED, [_seed(seed)]))
    source = from_dataset(name, data_root(None), None)
    facts = facts_of(data_set(name).meta)
    made = make_split(source.graph, facts, checked.section(SplitParams)).arrays()
    arrays: dict[str, Any] = dict(made)
    offset, ids = np.asarray(arrays["stream/offset"]), np.asarray(arrays["nodes/orig_id"])
    part = np.repeat(np.arange(len(offset) - 1), np.diff(offset)) % 3
    train, test = (some(source, np.sort(ids[part == which])) for which in (0, 2))
    return train, test


def _seed(seed: int) -> str:
    return f"split.seed={seed}"


def accuracy(train: Source, test: Source, edges: str) -> tuple[float, float]:
    """Return the accuracy of a bank on the test graph, and the CPU seconds of learning."""
    sets = [*SETS, f"bank.edges={edges}"]
    checked = sections.Params("check", params_file.read(params_file.PACKAGED, sets))
    with tempfile.TemporaryDirectory() as folder:
        bank = Path(folder) / "bank"
        store.create(bank, from_params(checked, "analytic", 1))
        began = time.process_time()
        add.add(bank, train, per_task=2)
        spent = time.process_time() - began
        answers = load_bank(bank).predict(test.graph, unknown=0)
    names = np.array(test.graph.class_names, object)
    found = np.array(answers.class_names, object)[answers.label]
    y = test.graph.labels
    right = [np.mean(found[y == c] == names[c]) for c in np.unique(y[y >= 0])]
    return 100 * float(np.mean(right)), spent


def main() -> None:
    """Measure all named data sets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--splits", nargs="+", type=int, default=[42])
    given = parser.parse_args()
    for name in given.datasets:
        for seed in given.splits:
            train, test = parts(name, seed)
            found = {edges: accuracy(train, test, edges) for edges in ("task", "all")}
            said = ", ".join(f"{e} {a:.2f} % ({s:.1f} s)" for e, (a, s) in found.items())
            print(f"{name}, split {seed}: {said}", flush=True)


if __name__ == "__main__":
    main()
