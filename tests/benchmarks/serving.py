"""A bank in service: CPU seconds to load it and everything that it answers with, and of an answer
for one node from its neighbourhood, beside one for all nodes of the graph.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from taamctl.bank import add, graph_source, store
from taamctl.bank.bank import load_bank
from taamctl.bank.config import from_params
from taamctl.bank.graph_source import Source
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR
from taamctl.graph.canonical import to_scipy
from taamctl.params import params_file, sections
from taamctl.runtime.raw_files import data_root
from taamctl.stream.induce import message_edges

FAST = ("train.epochs=2", "train.threads=1", "train.device=cpu")
NODES = 100
Spent = dict[str, dict[str, float]]


def serving(dataset: str, classes: int) -> Spent:
    """Return what serving costs with a bank of a whole data set, `classes` a task; nothing where
    its data are not there.
    """
    try:
        source = graph_source.from_dataset(dataset, data_root(None), None)
    except TaamctlError:
        return {}
    registry.require("taamctl.methods", "taam")
    checked = sections.Params("bench", params_file.read(params_file.PACKAGED, FAST))
    with tempfile.TemporaryDirectory() as folder:
        bank = Path(folder) / "bank"
        store.create(bank, from_params(checked, "taam", 1))
        add.add(bank, source, per_task=classes)
        return measured(bank, source)


def measured(bank: Path, source: Source) -> Spent:
    """Return the CPU seconds of loading a bank, of an answer, and of answers for a whole graph."""
    result: Spent = {}
    for decide, unknown in (("router", 0.0), ("router", 0.05), ("expert", 0.05)):
        began = time.process_time()
        server = load_bank(bank).node_server(decide=decide, unknown=unknown)
        name = f"{decide}, {server.radius} steps"
        result[f"load, {name}"] = {"cpu_s": round(time.process_time() - began, 3)}
        result[f"one node, {name}"] = _one_by_one(server, source)
    began = time.process_time()
    load_bank(bank).predict(source)
    result["whole graph, loading included"] = {"cpu_s": round(time.process_time() - began, 3)}
    return result


def _one_by_one(server: object, source: Source) -> dict[str, float]:
    """Return CPU seconds an answer, and the size of neighbourhoods, over random nodes."""
    graph = source.graph
    received = to_scipy(message_edges(graph.adjacency, "always", False), np.int32)
    degree = np.asarray(received.sum(1)).ravel() - received.diagonal()
    x = graph.features
    rows = to_scipy(x, np.float32) if isinstance(x, CSR) else x
    spent = []
    sizes = []
    for node in np.random.default_rng(0).choice(graph.num_nodes, NODES, replace=False):
        near = np.array([node])
        for _ in range(server.radius):
            inner = near
            near = np.union1d(near, received[near].indices)
        edges = np.stack(received[near][:, near].nonzero())
        edges = edges[:, np.isin(near[edges], inner).any(0)]
        at = int(np.searchsorted(near, node))
        given = rows[near]
        began = time.process_time()
        server.answer(given, edges, at, degree[near])
        spent.append(time.process_time() - began)
        sizes.append(len(near))
    return {
        "cpu_s": round(float(np.median(spent)), 5),
        "of 99 %": round(float(np.quantile(spent, 0.99)), 5),
        "nodes": float(np.median(sizes)),
        "nodes of 99 %": float(np.quantile(sizes, 0.99)),
    }
