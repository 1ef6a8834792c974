"""Tables of `taamctl reproduce` that hold no verdicts: the appendix's bound, and the data sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.learning.routing.error_bound import separations, task_spread
from taamctl.params.train_params import InferParams
from taamctl.pipeline import at_hand, split_account, table_files, walk
from taamctl.report import published
from taamctl.report.report_tables import csv_text, markdown_rows
from taamctl.runtime.job import Context
from taamctl.store.artefacts import Artefact
from taamctl.store.precompute_kind import PRECOMPUTE
from taamctl.store.split_kind import SPLIT

if TYPE_CHECKING:
    from distributed import Client
    from scipy.sparse import csr_matrix

Line = Mapping[str, Plain]


@dataclass(frozen=True)
class PlainTable:
    """Lines under the same columns, and what has to be known to read them."""

    target: str
    columns: tuple[str, ...]
    lines: Sequence[Line]
    conditions: Sequence[str]

    def write(self, folder: Path, command: str) -> Path:
        """Write it as JSON, Markdown and CSV and return the JSON's path.

        Args:
            command: what makes it again.
        """
        title = published.title(self.target)
        text = [f"# {title}", "", f"`{command}`", "", *markdown_rows(self.columns, self.cells())]
        text += ["", *(f"- {line}" for line in self.conditions)]
        rows = [[line.get(name) for name in self.columns] for line in self.lines]
        texts = {".md": "\n".join(text) + "\n", ".csv": csv_text(self.columns, rows)}
        return table_files.write(folder, self.target, command, self.lines, self.conditions, texts)

    def cells(self) -> list[tuple[str, ...]]:
        """Return every line as text."""
        return [tuple(_text(line.get(name)) for name in self.columns) for line in self.lines]


def _text(value: Plain) -> str:
    """Return four digits of a number that is no count; a dash where there is nothing."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def theory(context: Context, client: Client | None = None) -> PlainTable:
    """Return V_intra, D_inter, Dirichlet energy and the bound on the task-ID error, per task."""
    lines: list[Line] = []
    there = at_hand.required(context)
    walk.features(context, *there, client=client)
    for dataset in there:
        path = context.layout.file("precompute", dataset)
        with Artefact(path, PRECOMPUTE, context.layout.command("precompute", dataset)) as made:
            lines += _bounds(made, dataset, context.params.section(InferParams))
    columns = ("dataset", "task", "nearest", "V raw", "V_intra", "D_inter", "bound")
    return PlainTable(
        "theory",
        (*columns, "energy X", "energy S2X"),
        lines,
        [
            "V_intra: mean squared distance of a training node's AMP profile from its task's "
            "prototype; V raw: of its features from their mean. D_inter: distance of the prototype "
            "to the nearest other one.",
            "bound: of the share of wrong task IDs, exp(-D_inter^2 / (8 V_intra)), as the "
            "appendix has it. Near 1 it says nothing, whatever share is wrong.",
            "energy: tr(Z^T (I - S) Z) / |Z|^2, 0 where neighbours agree.",
        ],
    )


def _bounds(made: Artefact, dataset: str, params: InferParams) -> Iterator[Line]:
    """Yield the lines of one data set."""
    tasks = range(made.shape("stream/bounds")[0])
    spreads = [task_spread(*_training_graph(made, k), params) for k in tasks]
    apart = separations(spreads)
    for k, spread in enumerate(spreads):
        line: dict[str, Plain] = {"dataset": dataset, "task": k + 1}
        line |= {"V raw": spread.v_raw, "V_intra": spread.v_intra}
        line |= {"energy X": spread.energy, "energy S2X": spread.energy_smooth}
        if apart:
            line |= {"nearest": apart[k].nearest + 1, "D_inter": apart[k].d_inter}
            line["bound"] = apart[k].bound
        yield line


def _training_graph(made: Artefact, task: int) -> tuple[csr_matrix, csr_matrix]:
    """Return raw features and edges of a task's training part."""
    import scipy.sparse as sp

    at = f"tasks/{task:02d}/train"
    dense = made.has(f"{at}/x")
    if not (dense or made.has(f"{at}/x_data")) or not made.has(f"{at}/indices"):
        raise TaamctlError(
            f"{made.path} holds no raw features or no edges, which the bound needs",
            "set precompute.store_x and precompute.store_edges to true",
        )
    n, f = made.shape(f"{at}/H")
    if dense:
        x = sp.csr_matrix(made.read(f"{at}/x"))
    else:
        entries = (made.read(f"{at}/{name}") for name in ("x_data", "x_indices", "x_indptr"))
        x = sp.csr_matrix(tuple(entries), (n, f))
    columns = made.read(f"{at}/indices")
    edges = sp.csr_matrix((np.ones(len(columns)), columns, made.read(f"{at}/indptr")), (n, n))
    return x, edges


def statistics(context: Context, client: Client | None = None) -> PlainTable:
    """Return the size of every data set: counted, and as printed where that is on file."""
    printed = published.statistics()
    lines: list[Line] = []
    there = at_hand.required(context)
    walk.features(context, *there, client=client)
    for dataset in there:
        path = context.layout.file("split", dataset)
        with Artefact(path, SPLIT, context.layout.command("split", dataset)) as split:
            counted = _counted(split)
        for name, value in counted.items():
            stated = printed.get(dataset, {}).get(name)
            difference = None if stated is None else value - stated
            line: dict[str, Plain] = {"dataset": dataset, "what": name, "printed": stated}
            lines.append({**line, "counted": value, "difference": difference})
    return PlainTable(
        "datasets",
        ("dataset", "what", "printed", "counted", "difference"),
        lines,
        [
            "Counted on the graph as it is used: directed entries, those before symmetrising in "
            "the raw file and those after; classes and nodes of the stream, leftovers left out.",
            "Printed: as far as the figures are on file; entry 25 of the register says whose they "
            "are.",
        ],
    )


def _counted(split: Artefact) -> dict[str, int]:
    account = split_account.of(split)
    classes = split.shape("classes/label")[0]
    return {
        "nodes": split.shape("nodes/orig_id")[0],
        "edges stored": account["edges_stored"],
        "edges used": account["edges_used"],
        "edges inside a part": split.shape("edges/indices")[0],
        "classes": classes,
        "classes left out": len(account["dropped"]),
        "tasks": split.shape("stream/bounds")[0],
    }
