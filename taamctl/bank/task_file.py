"""The files of a bank: what its tasks share, and one file per task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from taamctl.bank import class_state
from taamctl.bank.class_state import ClassState
from taamctl.bank.config import Config
from taamctl.bank.honest import read_honest
from taamctl.bank.kept_val import KeptVal, read_val
from taamctl.bank.node_record import NodeRecord
from taamctl.bank.router import Router, owners
from taamctl.core.errors import TaamctlError
from taamctl.core.seeding import torch_generator
from taamctl.core.types import Array, QueryGraph
from taamctl.features import column_sizes
from taamctl.features.raw_features import Norm
from taamctl.learning.contract.method import Method
from taamctl.learning.kernels import class_sums, ridge, squeezed
from taamctl.params.train_params import RidgeParams
from taamctl.store import artefact_writer, artefacts
from taamctl.store.bank_kinds import BANK_ROUTER, BANK_SHARED, BANK_TASK

PROBES = 64  # random rows of the reference outputs
# rows that an expert sees at once, always: so a node's logits do not depend on what else is asked
CHUNK = 64
State = dict[str, Array]


@dataclass(frozen=True)
class Shared:
    """What all tasks of a bank share.

    Attributes:
        method: what the method shares, such as a frozen backbone.
        lift: what makes node profiles. probe: [64, F] random rows.
        feature_names: F names; empty where the first graph had none, or the bank is from before
            they were kept.
        feature_sizes: [F] float32, what every feature is divided by; None where none is.
        salt: [16] uint8, key of the hashes of node names; None where no node is recorded.
    """

    method: State
    lift: ridge.Lift
    probe: torch.Tensor
    feature_names: tuple[str, ...] = ()
    feature_sizes: Array | None = None
    salt: Array | None = None

    def norm(self, name: str) -> Norm:
        """Return how features are normalised, by the manifest's name of it."""
        if name != column_sizes.COLUMN:
            return name
        if self.feature_sizes is None:
            raise TaamctlError(
                f"the bank's shared file lacks sizes of features, which feature_norm {name} needs",
                "taamctl bank verify says what is wrong with a bank",
            )
        return self.feature_sizes


@dataclass(frozen=True)
class TaskState:
    """Everything that a bank keeps of a task; arrays as in the `bank_task` artefact, the
    router's sums and what is exact when asked for; no halves and rows where the task has no
    validation node, or is from before they were kept. An empty state is that of a task whose own
    model was taken away when nodes were forgotten.
    """

    classes: tuple[str, ...]
    bounds: tuple[int, int]
    nodes: tuple[int, int]
    loss: Array
    state: State
    hop_mean: Array
    sums: Callable[[], ridge.Sums]
    quantiles: Array
    reference: Array
    halves: Array | None = None
    rows: Array | None = None
    exact: Callable[[], ClassState] | None = None
    val: KeptVal | None = None


def draw_shared(config: Config, num_features: int, feature_names: tuple[str, ...] = ()) -> Shared:
    """Draw what all tasks share from the bank's seed."""
    own: State = {}
    if config.has_experts:
        own = config.make(num_features, ((0, 1),), torch.device("cpu")).shared()
    probe = torch.randn(PROBES, num_features, generator=torch_generator(config.seed, "bank_probe"))
    return Shared(
        own,
        ridge.Lift.draw(num_features, config.bank.router, config.seed),
        probe,
        feature_names,
    )


def write_shared(path: Path, shared: Shared, params: Mapping[str, object]) -> None:
    """Write the shared file."""

    def fill(writer: artefact_writer.Writer) -> None:
        writer.put("lift", shared.lift.matrix.numpy())
        writer.put("probe", shared.probe.numpy())
        if shared.feature_names:
            writer.put("features/name", shared.feature_names)
        if shared.feature_sizes is not None:
            writer.put("features/size", shared.feature_sizes)
        if shared.salt is not None:
            writer.put("known/salt", shared.salt)
        for name, array in shared.method.items():
            writer.put(f"method/{name}", array)

    artefact_writer.create(path, BANK_SHARED, params, fill)


def read_shared(path: Path, config: Config) -> Shared:
    """Read the shared file, every array checked."""
    with artefacts.Artefact(path, BANK_SHARED) as file:
        probe = torch.from_numpy(file.read("probe"))
        projects = config.bank.router.profile_width(probe.shape[1]) < probe.shape[1]
        lift = ridge.Lift(torch.from_numpy(file.read("lift")), projects)
        names = tuple(file.read("features/name").tolist()) if file.has("features/name") else ()
        sizes = _optional(file, "features/size")
        salt = _optional(file, "known/salt")
        return Shared(_folder(file, "method"), lift, probe, names, sizes, salt)


def write_task(path: Path, task: TaskState, params: Mapping[str, object]) -> None:
    """Write a task's file."""

    def fill(writer: artefact_writer.Writer) -> None:
        for name, value in (
            ("classes/name", task.classes),
            ("bounds", task.bounds),
            ("nodes", task.nodes),
            ("loss", task.loss),
            ("hop_mean", task.hop_mean),
            ("unknown/quantiles", task.quantiles),
            ("reference/logits", task.reference),
        ):
            writer.put(name, value)
        if task.exact is None:
            sums = task.sums()
            if sums.factors is None:
                writer.put("router/gram", ridge.pack(sums.gram).numpy())
            else:
                writer.put("router/factors", sums.factors.numpy())
            writer.put("router/cross", sums.cross.numpy())
        else:
            class_state.put_state(writer, task.exact())
        for name, kept in (("routing/halves", task.halves), ("routing/rows", task.rows)):
            if kept is not None:
                writer.put(name, kept)
        if task.val is not None:
            for name, kept in task.val.arrays():
                writer.put(name, kept)
        for name, array in task.state.items():
            writer.put(f"state/{name}", array)

    artefact_writer.create(path, BANK_TASK, params, fill)


def read_task(path: Path, params: RidgeParams) -> TaskState:
    """Read a task's file, every array checked.

    Args:
        params: of the bank's router.
    """
    with artefacts.Artefact(path, BANK_TASK) as file:
        (low, high), (train, val) = file.read("bounds"), file.read("nodes")
        return TaskState(
            tuple(file.read("classes/name").tolist()),
            (int(low), int(high)),
            (int(train), int(val)),
            file.read("loss"),
            _folder(file, "state"),
            file.read("hop_mean"),
            lambda: read_sums(path, params),
            file.read("unknown/quantiles"),
            file.read("reference/logits"),
            _optional(file, "routing/halves"),
            _optional(file, "routing/rows"),
            _exact_of(path, file),
            read_val(file),
        )


def _exact_of(path: Path, file: artefacts.Artefact) -> Callable[[], ClassState] | None:
    """Return what reads the exact part of a task; None where it has none."""
    if not file.has("exact/gram"):
        return None

    def read() -> ClassState:
        with artefacts.Artefact(path, BANK_TASK) as again:
            return class_state.read_state(again)

    return read


def _optional(file: artefacts.Artefact, path: str) -> Array | None:
    return file.read(path) if file.has(path) else None


def read_sums(path: Path, params: RidgeParams) -> ridge.Sums:
    """Read what the router needs of a task."""
    with artefacts.Artefact(path, BANK_TASK) as file:
        if file.has("exact/gram"):
            views = len(class_sums.views_of(params))
            return class_state.read_sums(file).of_task(views)
        cross, nodes = (
            torch.from_numpy(file.read("router/cross")).double(),
            int(file.read("nodes")[0]),
        )
        if file.has("router/factors"):
            factors = torch.from_numpy(file.read("router/factors"))
            return squeezed.from_factors(factors, cross, nodes)
        gram = ridge.unpack(torch.from_numpy(file.read("router/gram")).double(), len(cross))
        return ridge.Sums(gram, cross, nodes)


def write_router(path: Path, router: Router, params: Mapping[str, object]) -> None:
    """Write a solved router."""

    def fill(writer: artefact_writer.Writer) -> None:
        writer.put("weight", router.weight.numpy())
        writer.put("mean", router.mean)
        writer.put("deviation", router.deviation)
        if router.honest is not None:
            for name, value in router.honest.arrays():
                writer.put(name, value)

    artefact_writer.create(path, BANK_ROUTER, params, fill)


def read_router(path: Path, names: Sequence[tuple[str, ...]]) -> Router:
    """Read the solved router of tasks with the given class names."""
    with artefacts.Artefact(path, BANK_ROUTER) as file:
        honest = read_honest(file)
        penalty = None
        if honest is not None:
            penalty = honest.ridge
        return Router(
            torch.from_numpy(file.read("weight")),
            file.read("mean"),
            file.read("deviation"),
            owners(names),
            penalty,
            honest,
        )


def with_state(task: TaskState, state: ClassState, config: Config) -> TaskState:
    """Return a task with another exact part, and what follows from it."""
    views = len(class_sums.views_of(config.bank.router))
    return replace(
        task,
        sums=lambda: state.sums.of_task(views),
        exact=lambda: state,
        hop_mean=state.hop_mean,
    )


def read_known(path: Path) -> NodeRecord:
    """Read which nodes a task has seen.

    Raises:
        TaamctlError: the bank keeps no record.
    """
    with artefacts.Artefact(path, BANK_TASK) as file:
        return class_state.read_record(file)


def expert(config: Config, shared: Shared, state: State, classes: int) -> Method:
    """Return one task's model alone: its outputs are its own classes', whatever else the bank
    knows.
    """
    method = config.make(shared.probe.shape[1], ((0, classes),), torch.device("cpu"))
    method.load(shared.method, [state])
    return method


def logits(method: Method, h: torch.Tensor, deg: torch.Tensor, chunk: int = CHUNK) -> torch.Tensor:
    """Return a task's logits [N, classes] for rows of H, always `chunk` rows at a time on one
    thread, the last chunk filled up with zeros.

    So small a product gains nothing from a second thread, and its last bits would depend on it, as
    they depend on `chunk`.
    """
    out = []
    with torch.no_grad(), one_thread():
        for low in range(0, len(h), chunk):
            rows, degree = h[low : low + chunk], deg[low : low + chunk]
            short = chunk - len(rows)
            if short:
                rows, degree = (
                    torch.cat([rows, rows.new_zeros(short, h.shape[1])]),
                    torch.cat([degree, degree.new_ones(short)]),
                )
            out.append(method.logits(QueryGraph(rows, degree), 0)[: chunk - short].float())
    return torch.cat(out) if out else torch.zeros(0, method.info.num_classes)


def reference(method: Method, shared: Shared) -> Array:
    """Return a task's logits for the shared random rows, [64, classes] float32."""
    return np.array(logits(method, shared.probe, torch.ones(len(shared.probe))).numpy())


def no_reference(classes: int) -> Array:
    """Return the outputs of a task without a model of its own, [0, classes] float32."""
    return np.zeros((0, classes), np.float32)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread for the body: small products wait for each other's threads longer
    than they compute.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _folder(file: artefacts.Artefact, below: str) -> State:
    return (
        {p.removeprefix(f"{below}/"): file.read(p) for p in file.paths(below)}
        if file.has(below)
        else {}
    )
