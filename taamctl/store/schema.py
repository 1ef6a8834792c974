"""Every artefact kind in one table: it drives the writer, the reader, `taamctl inspect` and the
page `artefacts`.

A path may hold `{task}` (two digits or more) and `{part}` (train, val, test). Dimension letters are
those of the pages: N nodes of the group, E edges, F features, C classes, T tasks, J hops.
"""

from __future__ import annotations

from taamctl.store.bank_kinds import BANK_KINDS
from taamctl.store.schema_entries import Entry, Kind
from taamctl.store.stream_kind import STREAM_KIND

GROUP = "tasks/{task}/{part}/"

KINDS: dict[str, Kind] = {
    "graph": Kind(
        3,
        "a graph of one's own, `data/<name>.h5`: what `split` and `precompute` read",
        {
            "adjacency/indptr": Entry(
                "int64", ("N+1",), "edges as imported: row v holds the nodes u with an edge u -> v"
            ),
            "adjacency/indices": Entry(
                "int32", ("E",), "sending nodes, increasing inside a row, none twice"
            ),
            "features/dense": Entry(
                "float32", ("N", "F"), "features, where they are dense", optional=True
            ),
            "features/indptr": Entry(
                "int64", ("N+1",), "features as CSR: row pointer", optional=True
            ),
            "features/indices": Entry(
                "int32", ("nnz",), "features as CSR: feature ids", optional=True
            ),
            "features/data": Entry(
                "float32",
                ("nnz",),
                "features as CSR: values; left out where all are 1",
                optional=True,
            ),
            "features/name": Entry(
                "str", ("F",), "names of the features, by which a bank matches them", optional=True
            ),
            "labels": Entry("int64", ("N",), "class id in 0..C-1; -1: unlabelled"),
            "classes/name": Entry("str", ("C",), "class names, in label order"),
            "given/arrival": Entry(
                "int64", ("C",), "the task that every class arrives with", optional=True
            ),
            "given/part": Entry(
                "int8", ("N",), "0 train, 1 val, 2 test; -1: none given", optional=True
            ),
            "given/time": Entry(
                "float64", ("N",), "when a node appeared; NaN: unknown", optional=True
            ),
            "given/node_id": Entry("str", ("N",), "the nodes' names in the source", optional=True),
            "outside/row": Entry(
                "int64",
                ("K",),
                "edges to nodes of another graph: the node of this one (since version 3)",
                optional=True,
            ),
            "outside/name": Entry(
                "str", ("K",), "the name of the other node, in its own graph", optional=True
            ),
            "outside/into": Entry(
                "int8", ("K",), "1: the edge ends at the node of this graph", optional=True
            ),
            "notes": Entry(
                "str", ("note",), "what importing had to say about the raw data", optional=True
            ),
        },
    ),
    "split": Kind(
        3,
        "task stream, parts and the edges inside every (task, part)",
        {
            "classes/label": Entry(
                "int64", ("C",), "the data set's label id of every class, in stream order"
            ),
            "classes/name": Entry("str", ("C",), "class names, in stream order"),
            "classes/count": Entry("int64", ("C", "part"), "nodes per class in train, val, test"),
            "stream/bounds": Entry("int64", ("T", "2"), "class ids [low, high) of every task"),
            "stream/offset": Entry(
                "int64",
                ("T*3+1",),
                "row range of every (task, part), tasks first, in one grouped numbering",
            ),
            "nodes/orig_id": Entry(
                "int64",
                ("N",),
                "node id in the data set's documented order; rows grouped by (task, part)",
            ),
            "nodes/y": Entry("int64", ("N",), "stream class id"),
            "edges/indptr": Entry(
                "int64",
                ("N+1",),
                "block-diagonal adjacency: row v holds the nodes that send to v, no self-loops "
                "added yet",
            ),
            "edges/indices": Entry("int32", ("E",), "sending nodes, in the grouped numbering"),
            "mixed/indptr": Entry(
                "int64",
                ("N+1",),
                "edges inside all tasks' val nodes, and inside all tasks' test nodes: the mixed "
                "query graphs; training rows are empty",
                since=2,
            ),
            "mixed/indices": Entry(
                "int32", ("E",), "sending nodes, in the grouped numbering", since=2
            ),
            "account/table": Entry(
                "int64",
                ("T*3", "4"),
                "per (task, part): nodes, edges kept, self-loops among them, isolated nodes",
            ),
        },
        later_attributes={"features_sha256": 3},
    ),
    "precompute": Kind(
        3,
        "propagated features of every (task, part), each from its own induced subgraph alone",
        {
            "stream/bounds": Entry("int64", ("T", "2"), "class ids [low, high) of every task"),
            "classes/name": Entry("str", ("C",), "class names, in stream order"),
            "features/size": Entry(
                "float32",
                ("F",),
                "what every feature was divided by, where each is by its own size",
                optional=True,
                since=3,
            ),
            GROUP + "orig_id": Entry("int64", ("N",), "node id in the data set's documented order"),
            GROUP + "y": Entry("int64", ("N",), "stream class id"),
            GROUP + "deg": Entry("float32", ("N",), "in-degree with the added self-loop"),
            GROUP + "H": Entry("float32", ("N", "F"), "SGC features H = S^k X"),
            GROUP + "spread": Entry("float32", ("N",), "S^k 1: how much mass a node receives"),
            GROUP + "hop_mean": Entry(
                "float32",
                ("J", "F"),
                "mean over the nodes of S^j X, j = 0..max_hop: every AMP profile follows",
            ),
            GROUP + "ls_mean": Entry(
                "float32",
                ("2", "F"),
                "Laplacian-smoothing profile; row 0 with the trailing D^-1/2, row 1 without",
            ),
            GROUP + "x": Entry(
                "float32",
                ("N", "F"),
                "raw features X, where at least half of the group's values are not 0",
                optional=True,
            ),
            GROUP + "x_indptr": Entry(
                "int64", ("N+1",), "X as CSR, where more are 0: row pointer", optional=True
            ),
            GROUP + "x_indices": Entry("int32", ("nnz",), "X as CSR: feature ids", optional=True),
            GROUP + "x_data": Entry("float32", ("nnz",), "X as CSR: values", optional=True),
            GROUP + "indptr": Entry(
                "int64",
                ("N+1",),
                "edges inside the group, self-loops added: row pointer",
                optional=True,
            ),
            GROUP + "indices": Entry(
                "int32",
                ("E",),
                "edges inside the group: sending nodes, numbered inside the group",
                optional=True,
            ),
        },
    ),
    "train": Kind(
        1,
        "what a method keeps of every task, and what the tasks share",
        {
            "stream/bounds": Entry("int64", ("T", "2"), "class ids [low, high) of every task"),
            "loss": Entry(
                "float32", ("T", "epoch"), "training loss; NaN where a stage is not trained"
            ),
        },
        open_entries=True,
    ),
    "checkpoint": Kind(
        1,
        "an unfinished training run, one file per learned task",
        {
            "loss": Entry("float32", ("epoch",), "training loss of this task"),
        },
        open_entries=True,
    ),
    "infer": Kind(
        3,
        "task-ID decisions and the predictions that follow from them",
        {
            "stream/bounds": Entry("int64", ("T", "2"), "class ids [low, high) of every task"),
            "classes/name": Entry("str", ("C",), "class names, in stream order"),
            "routing/used": Entry(
                "str", ("stage",), "profile and metric, or router, that decided at a stage", since=3
            ),
            "routing/name": Entry("str", ("routing",), "the routings that were looked at", since=3),
            "routing/halves": Entry(
                "float64",
                ("routing", "stage", "T"),
                "share of 100 halves of a task's validation nodes whose task was inferred right; "
                "NaN where the task was not seen or has none, or the routing was not looked at",
                since=3,
            ),
            "{part}/y": Entry("int64", ("N",), "true stream class ids, rows grouped by task"),
            "{part}/task": Entry("int64", ("N",), "true task of every row (used by eval only)"),
            "{part}/decision": Entry(
                "int64",
                ("stage", "T"),
                "task chosen at a stage for the query graph of a task; -1: not seen yet",
            ),
            "{part}/similarity": Entry(
                "float32",
                ("stage", "T", "T"),
                "similarity to every prototype; NaN where not compared",
            ),
            "{part}/margin": Entry(
                "float32",
                ("stage", "T"),
                "best minus second-best similarity; NaN with fewer than two candidates",
            ),
            "{part}/all_seen": Entry(
                "int32", ("stage", "N"), "predicted class over all classes seen; -1: no prediction"
            ),
            "{part}/up_to_task": Entry(
                "int32", ("stage", "N"), "predicted class up to the chosen task's last class"
            ),
            "{part}/task_only": Entry(
                "int32", ("stage", "N"), "predicted class among the chosen task's classes"
            ),
            "{part}/grid": Entry(
                "float64",
                ("routing",),
                "share of right task IDs after the last task by AMP and cosine, AMP and Euclid, "
                "LS and cosine, LS and Euclid: from the profiles alone",
                since=2,
            ),
            "{part}/legacy": Entry(
                "int32",
                ("stage", "N"),
                "the final model's predicted class in the method's own scope, all_seen cut to "
                "the classes of a stage: what the released test pass evaluates; only to explain "
                "printed AF values",
                since=2,
            ),
        },
    ),
    "stream": STREAM_KIND,
    **BANK_KINDS,
}


def entry_of(kind: str, path: str) -> Entry | None:
    """Return the table entry that describes `path` of an artefact of `kind`, or None where the
    table has none.
    """
    table = KINDS[kind].entries
    if path in table:
        return table[path]
    pieces = path.split("/")
    for pattern, entry in table.items():
        want = pattern.split("/")
        if len(want) == len(pieces) and all(
            w == p or w in ("{task}", "{part}") for w, p in zip(want, pieces, strict=True)
        ):
            return entry
    return None


def since(kind: str, name: str) -> int:
    """Return since which version of a kind an array or a root attribute is written."""
    entry = entry_of(kind, name)
    if entry is not None:
        return entry.since
    return KINDS[kind].later_attributes.get(name, 1)


def markdown() -> str:
    """Return the table of kinds as Markdown: for docs/artefacts.md."""
    lines = []
    for name, kind in KINDS.items():
        further = ", and arrays of the method's own" if kind.open_entries else ""
        lines += [
            f"**{name}** (version {kind.version}): {kind.doc}{further}",
            "",
            "| array | dtype | dimensions | meaning |",
            "|---|---|---|---|",
        ]
        for path, entry in kind.entries.items():
            where = path.replace("{task}", "<task>").replace("{part}", "<part>")
            dims = " x ".join(entry.dims)
            lines.append(f"| `{where}` | {entry.dtype} | {dims} | {entry.doc}{_remark(entry)} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def _remark(entry: Entry) -> str:
    """Return in brackets what is special about an array; empty where nothing is."""
    words = []
    if entry.optional:
        words.append("optional")
    if entry.since > 1:
        words.append(f"since version {entry.since}")
    return f" ({', '.join(words)})" if words else ""
