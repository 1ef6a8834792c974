"""What every stage costs in time, memory and disk: one set of formulas over counts and a machine's
rates. Pure functions.

The constants were fitted to recorded runs; `python tests/benchmarks/plan_check.py OUTPUTS` puts
prediction and record side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from taamctl.core.units import MIB
from taamctl.learning.routing.stage_answers import FEW, label_type
from taamctl.params.train_params import RidgeParams
from taamctl.stream.kept_edges import PASSES

HIDDEN = 256  # width of the backbone
COLUMNS = 256  # columns that one propagation step takes at a time
CACHE = 16 * MIB  # bytes of rows that still count as near
STAGES = ("split", "precompute", "train", "infer", "eval", "report")
SHARED = ("train", "infer", "eval")  # stages whose runs and tasks several processes can share

# --- fitted: time
START = 3.0  # seconds until Python has torch and its plug-ins, once per command
SPLIT_SORTS = 3.3  # sorts of all edges that loading, symmetrising and inducing amount to
SPLIT_PASSES = 6.0  # times that the raw features are read, hashed or copied
HASHED = 2.5e8  # bytes per second of a file or an array that is hashed or read into place
VECTORS = 5.0  # columns, out of the cache, that take as long as a product with one vector
PRODUCTS = 1.1  # time of the two products of training over that of the bare ones
FEATURE_PASSES = 1.2  # times per epoch that N x F floats are gone over beside the products
HIDDEN_PASSES = 16.0  # the same over N x 256 floats
STEP = 0.0015  # seconds of an optimiser step that no row pays for
PROBE_STEPS = 20.0  # L-BFGS evaluations of a logistic regression
PROBE_START = 1.0  # seconds until its library is there
ANSWER = 1.8  # time of a modulator's answer over that of its two products
INFER_PASSES = 8.0  # times that a query's N x 256 floats are gone over, per stage
PROPAGATE_START = 1.0  # seconds until the propagation's library is there
PER_ARTEFACT = 0.05  # seconds to write the smallest artefact
EVAL = 2e8  # predictions per second that are counted
EVAL_START = 0.02  # seconds of the smallest evaluation
EVAL_CLASS = 0.0012  # seconds per class: its recall is drawn for every scope, averaging and part
EVAL_PAIR = 0.00012  # seconds per stage and task
REPORT = 8.0  # seconds of tables, seven figures and the page, per data set

# --- fitted: memory
PLAIN = 112 * MIB  # Python with numpy and h5py
TORCH = 260 * MIB  # with torch
SPLIT_FIXED = 110 * MIB  # split: of a range of edges, at most
SPLIT_RANGE = 48.0  # bytes per entry of a smaller graph
SPLIT_KEPT = 10.0  # bytes per entry inside a (task, part)
SPLIT_MIXED = 25.0  # bytes per entry inside all val or all test nodes
SPLIT_NODE = 60.0  # bytes per node
SPLIT_LOADED = 14.0  # bytes per entry of a graph that is loaded as a whole, while it is
SPARSE_COPIES = 2.5  # split: sparse X held at once, where it is loaded as a whole
GROUP_ENTRY = 16.0  # precompute: bytes per entry of the group at work
GROUP_COPIES = 3.0  # precompute: N x columns arrays beside it
GROUP_FIXED = 64 * MIB  # of a range of edges and a block of rows
SKEW = 2.0  # time of the longest task over the mean one
TRAIN_MODULATED = (1.25, 2.6)  # N x F and N x 256 arrays of the rows learned at once
TRAIN_NET = (2.0, 6.0)
EVAL_NODE = 50.0  # eval: bytes per node, whatever the stages
INFER_MODEL = 0.6  # infer: of the arrays of an answer for a task's test rows
INFER_ANSWERS = 1.25  # and of the predictions that are held in memory
INFER_NODE = 24.0  # bytes per node


@dataclass(frozen=True)
class Rates:
    """What a machine does per second.

    Attributes:
        source: `reference` (packaged) or `measured`. device: `cuda`: dense products are a GPU's.
        threads: CPU threads of the products.
        dense, dense_bf16, sparse: float operations of a product, two for every value and column.
        near, far: edges x columns of a propagation step whose rows fit the cache, and do not.
        copy: bytes that one thread copies. lanes: bytes in the cache that all threads go over.
        sort: keys of 8 bytes sorted, times log2 of their number. disk: bytes written.
    """

    source: str
    device: str
    threads: int
    dense: float
    dense_bf16: float
    sparse: float
    near: float
    far: float
    copy: float
    lanes: float
    sort: float
    disk: float

    def on(self, threads: int) -> Rates:
        """Return the rates for another number of threads: products in proportion, but a GPU's."""
        by = 1.0 if self.device == "cuda" else threads / self.threads
        return replace(
            self,
            threads=threads,
            dense=self.dense * by,
            dense_bf16=self.dense_bf16 * by,
            sparse=self.sparse * by,
            lanes=self.lanes * by,
        )


REFERENCE = Rates(
    "reference",
    "cpu",
    2,
    dense=1.9e11,
    dense_bf16=8e11,
    sparse=5.6e10,
    near=2e10,
    far=2.2e9,
    copy=2e10,
    lanes=4e10,
    sort=3.2e8,
    disk=1e9,
)


@dataclass(frozen=True)
class Counts:
    """A graph and its split in numbers.

    Attributes:
        nodes: of the whole graph. used: directed entries that the split goes over.
        kept, mixed: entries inside a (task, part); entries inside all val or inside all test nodes.
        features, filled, filled_h: F; share of X, and of H, that is not 0.
        train, val, test: rows of the parts. largest: training rows of the largest task.
        streams: the source gives X a few rows at a time. large: its edges likewise.
        dense: X is held densely, zeros and all.
    """

    nodes: int
    used: int
    kept: int
    mixed: int
    features: int
    filled: float
    filled_h: float
    classes: int
    tasks: int
    train: int
    val: int
    test: int
    largest: int
    streams: bool = False
    dense: bool = False
    large: bool = False

    @property
    def is_sparse(self) -> bool:
        """Tell whether X is held sparsely."""
        return not self.dense and self.filled < 1

    @property
    def rows(self) -> int:
        """Return the rows of all parts."""
        return self.train + self.val + self.test

    @property
    def value(self) -> float:
        """Return the bytes per value of X in memory: 4, or 8 per stored one where sparse."""
        return 8.0 * self.filled if self.is_sparse else 4.0

    @property
    def raw(self) -> float:
        """Return the bytes of X in memory."""
        return self.nodes * self.features * self.value


@dataclass(frozen=True)
class Workload:
    """The parameters that cost depends on, and how many runs there are.

    Attributes:
        limit: bytes of `--max-memory`, 0 without: precompute then goes through the disk.
        routers: of the routers that learn from sums; None where `infer` looks at none.
    """

    hops: int
    max_hop: int
    store_x: bool
    store_edges: bool
    epochs: int
    threads: int
    runs: int
    node_batch: int = 0
    limit: int = 0
    routers: RidgeParams | None = None


@dataclass(frozen=True)
class Cost:
    """One stage, run once: bytes of memory at its peak, bytes of what it writes, seconds;
    `rough` where no formula of its own exists.
    """

    stage: str
    memory: float
    disk: float
    seconds: float
    rough: bool = False


def reach(filled: float, degree: float, hops: int) -> float:
    """Return the share of H = S^k X that is not 0: 1 - (1 - filled)^((1 + d)^k), as if
    neighbours shared no more than chance.
    """
    if filled in (0.0, 1.0) or hops * math.log1p(degree) > 60:
        return float(filled > 0)
    return float(1 - (1 - filled) ** ((1 + degree) ** hops))


def split(c: Counts, r: Rates) -> Cost:
    """Price `split`: seconds = sorts x E log2 E / sort + passes over X; disk = 4 bytes per edge
    kept and 32 per row.

    Memory is what is made of the edges that are kept, and the pairs counted at once; a graph that
    does not come in rows lies in memory beside it.
    """
    sorts = SPLIT_SORTS * c.used * math.log2(c.used + 2) / r.sort
    seconds = sorts + SPLIT_PASSES * c.raw / r.copy + c.raw / HASHED
    disk = 4.0 * (c.kept + c.mixed) + 32.0 * c.rows
    counted = 8.0 / PASSES * c.used
    work = counted + SPLIT_KEPT * c.kept + SPLIT_MIXED * c.mixed + SPLIT_NODE * c.nodes
    if not c.large:
        x = c.raw * (SPARSE_COPIES if c.is_sparse else 1.0)
        work = max(SPLIT_LOADED * c.used, x + 4.0 * c.used + work)
    work += TORCH + min(SPLIT_FIXED, SPLIT_RANGE * c.used)
    return Cost("split", work, disk, PER_ARTEFACT + seconds + disk / r.disk)


def stored_x(c: Counts) -> float:
    """Return the bytes of X in `features.h5`: 4 per value, or 8 per row and per value that is
    not 0 where fewer than half are.
    """
    values = float(c.rows) * c.features
    return 4.0 * values if c.filled >= 0.5 else 8.0 * c.rows + 8.0 * c.filled * values


def stored_edges(c: Counts) -> float:
    """Return the bytes of the edges in `features.h5`, self-loops added: 4 per edge, 8 per row."""
    return 8.0 * c.rows + 4.0 * (c.kept + c.rows)


def propagated(c: Counts, w: Workload, r: Rates) -> float:
    """Return the seconds of H = S^k X and of the hops' means: (k F + vectors) x edges with
    self-loops / rate.
    """
    group = 4.0 * max(1, c.largest) * min(c.features, COLUMNS)
    columns = w.hops * c.features / (r.near if group <= CACHE else r.far)
    return (c.kept + c.rows) * (columns + VECTORS * (w.max_hop + w.hops + 3) / r.far)


def precompute(c: Counts, w: Workload, r: Rates) -> Cost:
    """Price `precompute`, a (task, part) after the other: propagation, X gone over per stored hop,
    H and what is kept written.

    Memory is X as a whole and the largest group with its rows of X and H; disk is 4 N F and what is
    kept beside H. With a limit the group's rows lie on the disk, down to `least`.
    """
    h = 4.0 * c.rows * c.features
    x = c.rows * c.features * c.value
    disk = h + 40.0 * c.rows + 4.0 * 3 * c.tasks * c.features * (w.max_hop + 3)
    disk += w.store_x * stored_x(c) + w.store_edges * stored_edges(c)
    seconds = PROPAGATE_START + propagated(c, w, r) + (w.max_hop + 4) * 2 * x / r.copy
    seconds = seconds + c.raw / HASHED + disk / HASHED + disk / r.disk
    memory = TORCH + c.raw + 28.0 * c.rows + group(c, w, COLUMNS) + 8.0 * c.largest * c.features
    if w.limit and w.limit < memory:
        memory = max(float(w.limit), least(c, w))
        seconds += 2 * (h + x) / r.disk
    return Cost("precompute", memory, disk, seconds)


def group(c: Counts, w: Workload, columns: int) -> float:
    """Return the bytes of the largest (task, part) at work: its edges with the operator, a vector
    per hop, and at most so many columns.

    All kept edges are taken to lie in training parts, which is where most of them are.
    """
    edges = c.kept * c.largest / max(1, c.train) + c.largest
    vectors = 8.0 * (2 * (w.max_hop + 3) + 8)
    per_row = vectors + 4.0 * GROUP_COPIES * min(c.features, columns)
    return GROUP_FIXED + GROUP_ENTRY * edges + c.largest * per_row


def least(c: Counts, w: Workload) -> float:
    """Return the bytes that `precompute` needs whatever goes through the disk; X counts where
    its source has to be read as a whole.
    """
    return TORCH + (0.0 if c.streams else c.raw) + 28.0 * c.rows + group(c, w, 8)


def epoch(rows: float, c: Counts, r: Rates, classes: float, *, sparse: bool = True) -> float:
    """Return the seconds of one pass over `rows`: two products with W1 (2 x 2 N F 256, or over
    the stored values of a sparse H, if that is less and the method can), the tail (6 N 256 C),
    and the memory gone over.
    """
    filled, rate = 1.0, r.dense
    if sparse and r.device == "cpu" and c.filled_h < 1 and c.filled_h / r.sparse < 1 / r.dense:
        filled, rate = c.filled_h, r.sparse
    products = 4.0 * rows * c.features * HIDDEN * PRODUCTS * filled / rate
    tail = 6.0 * rows * HIDDEN * classes / r.dense
    passes = FEATURE_PASSES * c.features * filled + HIDDEN_PASSES * HIDDEN
    return products + tail + 4.0 * rows * passes / r.lanes


def train_modulated(c: Counts, w: Workload, r: Rates) -> Cost:
    """Price the modulated family: every row once per epoch, whatever task it belongs to; loss
    over half the classes on average.
    """
    batches = math.ceil(c.train / w.node_batch) if w.node_batch else 0
    steps = w.epochs * max(c.tasks, batches)
    seconds = w.epochs * epoch(c.train, c, r, c.classes / 2) + STEP * steps
    net = 4.0 * HIDDEN * (c.features + HIDDEN)  # the backbone
    disk = net + 4.0 * c.tasks * 16 * c.features
    return Cost("train", _train_memory(c, w, c.largest, TRAIN_MODULATED), disk, seconds)


def train_net(c: Counts, w: Workload, r: Rates, stages: str = "") -> Cost:
    """Price a trainable net over the stream (`stages` empty), or anew on all tasks: after the
    `last` one, or after `all` of them.
    """
    trained = 1 if stages == "last" else c.tasks
    share = (c.tasks + 1) / 2 if stages == "all" else 1.0
    one = epoch(c.train * share, c, r, c.classes / 2, sparse=False)
    memory = _train_memory(c, w, c.train if stages else c.largest, TRAIN_NET)
    disk = trained * 4.0 * HIDDEN * (c.features + c.classes)
    return Cost("train", memory, disk, w.epochs * one + STEP * w.epochs * trained)


def train_probe(c: Counts, r: Rates) -> Cost:
    """Price a logistic regression per task: L-BFGS steps x 4 N F C_k in float64, half as fast."""
    per_task = max(1.0, c.classes / max(1, c.tasks))
    work = PROBE_STEPS * c.train * c.features * (4.0 * per_task / (r.dense / 2) + 2 * 8.0 / r.copy)
    memory = TORCH + 200 * MIB + 16.0 * c.largest * c.features
    return Cost("train", memory, 4.0 * c.classes * c.features, PROBE_START + work)


def _train_memory(c: Counts, w: Workload, rows: float, arrays: tuple[float, float]) -> float:
    """Return the bytes of the rows learned at once, N x F and N x 256 arrays; a batch bounds
    what is made of them.
    """
    inside = min(rows, w.node_batch or rows)
    wide, hidden = arrays
    made = inside * ((wide - 1) * c.features + (hidden - 1) * HIDDEN)
    return TORCH + 20 * MIB + 4.0 * (rows * (c.features + HIDDEN) + made)


def modulated_answer(c: Counts) -> float:
    """Return the float operations of a modulator's answer for one row: W1 h and W1 h', 4 F 256,
    and what is made of h.
    """
    return ANSWER * 4.0 * c.features * HIDDEN


def net_answer(c: Counts) -> float:
    """Return the float operations of a net's answer for one row."""
    return 2.0 * HIDDEN * (c.features + c.classes)


def infer(c: Counts, r: Rates, answer: float, *, once: bool) -> Cost:
    """Price `infer`: queries are answered by the last model and for the legacy test pass; and at
    every stage since their own, (T + 1) / 2 times, unless the last model tells those too.

    Args:
        answer: float operations of an answer for one row.
        once: later tasks change no logit.
    """
    queries = c.val + c.test
    times = 2.0 if once else (c.tasks + 3) / 2
    passes = 4.0 * queries * (2 * c.features + INFER_PASSES * HIDDEN)
    one = answer * queries / r.dense + passes / r.lanes
    label = label_type(c.classes)().itemsize
    disk = queries * (4.0 * label * c.tasks + 16.0)
    asked = c.largest * max(c.val, c.test) / max(1, c.train)  # nodes of the largest query graph
    model = 4.0 * asked * (4 * c.features + 4 * HIDDEN)
    if not once:
        asked = max(c.val, c.test)
    answers = sum(4.0 * label * min(FEW, c.tasks * nodes) for nodes in (c.val, c.test))
    memory = TORCH + 4.0 * asked * c.features + INFER_MODEL * model + INFER_NODE * queries
    memory += INFER_ANSWERS * answers
    return Cost("infer", memory, disk, PER_ARTEFACT + one * times + disk / r.disk)


def evaluate(c: Counts) -> Cost:
    """Price `eval`: four predictions per stage and row are counted into matrices."""
    counted = 4.0 * c.tasks * (c.val + c.test)
    disk = 200.0 * c.tasks**2 + 20_000
    small = EVAL_START + EVAL_CLASS * c.classes + EVAL_PAIR * c.tasks**2
    memory = PLAIN + EVAL_NODE * (c.val + c.test)
    return Cost("eval", memory, disk, small + counted / EVAL)


def report() -> Cost:
    """Price `report`: figures, whatever the graph's size."""
    return Cost("report", TORCH + 150 * MIB, 3e6, REPORT)
