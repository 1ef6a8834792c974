"""Every method in the registry keeps the contract: adding a file is enough to be tested here.

And the checks catch who does not.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT
from taamctl.core.spec import param
from taamctl.core.types import QueryGraph, TaskData
from taamctl.learning.contract.learn_stages import train_stream
from taamctl.learning.contract.method import Facts, Stored
from taamctl.learning.families.replay import ReplayMethod
from taamctl.learning.families.sequential import SequentialMethod
from taamctl.propagation import group_graph as graph
from taamctl.testing import contract, edge_checks, edge_streams
from taamctl.testing.contract import CHECKS, Check
from taamctl.testing.edge_streams import STREAMS
from taamctl.testing.toy_stream import NODES, ToyStream

PACKAGE = "taamctl.methods"
NAMES = registry.builtin(PACKAGE)
# Counts that only cost time on a toy stream.
CONDENSING = {"encoders": 20, "width": 64, "epochs": 60}
FEWER: dict[str, dict[str, Any]] = {
    "cat": CONDENSING,
    "puma": {**CONDENSING, "updates": 2, "net_width": 64},
    "delome": {"iterations": 10},
    "tpp": {"pretrain_epochs": 5},
    "gpf": {"pretrain_epochs": 5},
}


@cache
def case(name: str) -> ToyStream:
    return ToyStream(registry.load(PACKAGE, name), FEWER.get(name))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_contract(name: str, check: Check) -> None:
    if why := check(case(name)):
        pytest.skip(why)


# --------------------------------------------------------------------------------------------------

HONEST = Facts(title="Cheater", family="replay", source="here", sees="current", task_id="none")


def plugin(method: type[Any], parameters: Any = None, **more: Any) -> SimpleNamespace:
    """Return what a plug-in's module is to the checks."""
    return SimpleNamespace(Method=method, Params=parameters, **more)


class OnTheClass(SequentialMethod):
    """Keep all data in a class attribute. Source: here."""

    facts: ClassVar[Facts] = HONEST
    hoard: ClassVar[list[TaskData]] = []

    def begin(self, data: TaskData) -> None:
        self.hoard.append(data)

    def objective(self, data: TaskData) -> Any:
        h, y = torch.cat([t.h for t in self.hoard]), torch.cat([t.y for t in self.hoard])
        keep = y < self.seen
        return self.cross_entropy(h[keep], y[keep]), int(keep.sum())


class OnTheObject(OnTheClass):
    """Keep all data on the object. Source: here."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.hoard = []  # type: ignore[misc]
        self.found = 0

    def begin(self, data: TaskData) -> None:
        self.found = len(self.hoard)
        super().begin(data)


class InTheState(SequentialMethod):
    """Keep all data in arrays of the state that do not look like a memory. Source: here."""

    facts: ClassVar[Facts] = HONEST
    where = "state"

    def begin(self, data: TaskData) -> None:
        self.extra = {"importance": data.h.numpy(), "order": data.y.numpy()}

    def state(self) -> dict[str, np.ndarray]:
        return {**super().state(), **(self.extra if self.where == "state" else {})}

    def training_state(self) -> dict[str, np.ndarray]:
        return {
            **super().training_state(),
            **({"adam/extra": np.ones(10**4)} if self.where == "training" else {}),
        }


class InTheTrainingState(InTheState):
    """Keep all data as what is said to be the optimiser's. Source: here."""

    where = "training"


@dataclasses.dataclass(frozen=True)
class Budget:
    """Rows per class."""

    budget: int = param("rows per class", ge=1)


class InTheMemory(ReplayMethod):
    """Keep all rows whatever the budget says. Source: here."""

    facts: ClassVar[Facts] = dataclasses.replace(HONEST, memory="b rows of H per class")

    def select(self, data: TaskData) -> dict[str, torch.Tensor]:
        return {"x": data.h, "y": data.y}


class BesideTheRows(InTheMemory):
    """Keep the rows that are declared, and everything else beside them in the memory.

    Source: here.
    """

    def select(self, data: TaskData) -> dict[str, torch.Tensor]:
        rows = torch.cat(
            [torch.nonzero(data.y == c).flatten()[: self.params.budget] for c in data.task.classes]
        )
        return {"x": data.h[rows], "y": data.y[rows], "rest": data.h}


class CountedTooHigh(InTheMemory):
    """Declare more rows than are kept. Source: here."""

    def select(self, data: TaskData) -> dict[str, torch.Tensor]:
        return {"x": data.h[:2], "y": data.y[:2]}


class Silent(InTheMemory):
    """Keep rows as declared, but say nothing of them in words. Source: here."""

    facts: ClassVar[Facts] = HONEST

    def stored(self, class_sizes: Any) -> Stored:
        return Stored(rows=int(class_sizes.sum()), net=self.net_words)


@pytest.mark.parametrize(
    ("cheater", "check", "words"),
    [
        (
            plugin(OnTheClass),
            contract.same_seed_same_bits_and_inputs_untouched,
            "two runs with one seed differ",
        ),
        (
            plugin(OnTheClass),
            contract.stages_know_only_their_states,
            "another run in the same process changes the result",
        ),
        (
            plugin(OnTheObject),
            contract.a_new_object_per_stage_changes_nothing,
            r"a new object per stage.*belongs into state\(\)",
        ),
        (
            plugin(InTheState),
            contract.memory_is_what_is_declared,
            r"keeps [\d,]+ words beside its memory, but declares [\d,]+: declare it",
        ),
        (
            plugin(InTheTrainingState),
            contract.memory_is_what_is_declared,
            "words for the optimiser, but declares",
        ),
        (
            plugin(InTheMemory, Budget, DEFAULTS={"budget": 5}),
            contract.memory_is_what_is_declared,
            "keeps 20 rows of earlier data, but declares 10",
        ),
        (
            plugin(BesideTheRows, Budget, DEFAULTS={"budget": 5}),
            contract.memory_is_what_is_declared,
            "words in its memory, but declares 130",
        ),
        (
            plugin(CountedTooHigh, Budget, DEFAULTS={"budget": 5}),
            contract.memory_is_what_is_declared,
            r"6 rows are kept, but stored\(\) declares 25",
        ),
        (
            plugin(Silent),
            contract.memory_is_what_is_declared,
            "60 rows of earlier data are kept, but facts.memory is 'none'",
        ),
    ],
    ids=lambda value: (
        getattr(value, "__name__", None)
        or getattr(getattr(value, "Method", None), "__name__", "words")
    ),
)
def test_who_keeps_more_than_allowed_is_caught(cheater: Any, check: Check, words: str) -> None:
    OnTheClass.hoard.clear()
    with pytest.raises(AssertionError, match=words):
        check(ToyStream(cheater))


class ChangesItsMind(SequentialMethod):
    """Train one net further on every task, and say that no logit changes. Source: here."""

    facts: ClassVar[Facts] = HONEST
    cumulative = True  # type: ignore[assignment]


def test_who_says_that_logits_stay_and_changes_them_is_caught() -> None:
    with pytest.raises(
        AssertionError, match="are changed by later tasks; leave `cumulative` false"
    ):
        contract.cumulative_methods_keep_their_logits(ToyStream(plugin(ChangesItsMind)))


def test_training_itself_refuses_what_is_hoarded_in_states() -> None:
    toy = ToyStream(plugin(InTheMemory, Budget, DEFAULTS={"budget": 5}))
    nothing = SimpleNamespace(load=lambda stage: None, save=lambda *a: None)
    data = toy.tasks()
    with pytest.raises(
        TaamctlError, match="Cheater keeps 20 rows of earlier data, but declares 10"
    ):
        train_stream(toy.make, data.__getitem__, toy.sizes(data), nothing, SILENT)


def test_a_hoard_on_the_object_dies_with_it() -> None:
    made: list[OnTheObject] = []
    toy = ToyStream(plugin(OnTheObject))

    def make() -> Any:
        made.append(toy.make())  # type: ignore[arg-type]
        return made[-1]

    toy.stream(make, toy.tasks())
    assert len(made) > 3
    assert all(method.found == 0 for method in made)


def test_an_upper_bound_on_rows_has_to_be_said() -> None:
    contract.memory_is_what_is_declared(
        ToyStream(plugin(CountedTooHigh, Budget, DEFAULTS={"budget": 5}, ROWS_AT_MOST=True))
    )


def test_faults_of_a_plugin_are_named() -> None:
    class Loud(SequentialMethod):
        """Source: here."""

        facts: ClassVar[Facts] = dataclasses.replace(HONEST, sees="everything")

    with pytest.raises(
        AssertionError, match=r"facts.sees is 'everything'; it is 'current' or 'all'"
    ):
        contract.facts_are_declared(ToyStream(plugin(Loud)))
    with pytest.raises(AssertionError, match="has Params but no DEFAULTS"):
        ToyStream(plugin(InTheMemory, Budget))
    with pytest.raises(AssertionError, match="DEFAULTS.budget: -1 must be >= 1"):
        contract.parameters_are_declared(
            ToyStream(plugin(InTheMemory, Budget, DEFAULTS={"budget": -1}))
        )


# --------------------------------------------------------------------------------------------------


def test_training_and_queries_hold_no_more_than_they_may() -> None:
    """No val or test part can be read in training, no label in prediction: the types have no
    place for them.
    """
    assert {f.name for f in dataclasses.fields(TaskData)} == {"task", "h", "y", "deg", "extras"}
    assert {f.name for f in dataclasses.fields(QueryGraph)} == {"h", "deg", "extras"}
    plain = ToyStream(registry.load(PACKAGE, "finetune"))
    assert not plain.tasks()[0].extras
    assert not plain.query(0).extras


@pytest.mark.parametrize(
    "name", [n for n in NAMES if {"x", "edges"} <= set(case(n).facts.query_needs)]
)
def test_toy_features_follow_from_toy_graphs(name: str) -> None:
    order = np.random.default_rng(0).permutation(NODES).tolist()
    for group in (
        *case(name).tasks(),
        *case(name).tasks(one_node=True),
        case(name).query(1),
        case(name).query(1, order=order),
    ):
        edges = graph.adjacency(group.extras)
        x = graph.raw_rows(group.extras, torch.arange(NODES), 10)
        assert torch.allclose(graph.propagate_rows(edges, x, 2), group.h, atol=1e-6)
        assert torch.equal(
            torch.from_numpy(np.asarray(edges.sum(1), np.float32).ravel()), group.deg
        )
        assert (edges != edges.T).nnz == 0
        assert edges.diagonal().all()
        assert edges.nnz > NODES


# --------------------------------------------------------------------------------------------------

FASTER: dict[str, dict[str, Any]] = {
    **FEWER,
    "cat": {"encoders": 5, "width": 32, "epochs": 10},
    "puma": {"encoders": 5, "width": 32, "epochs": 10, "updates": 2, "net_width": 32},
    "delome": {"iterations": 3},
    "analytic": {"width": 64},
}
NETS_MOST = 1_000  # classes that a net is given in the long form; closed forms get 10,000
CLOSED = ("analytic", "linear_probe", "oracle")


def at_the_edge(name: str) -> ToyStream:
    return ToyStream(registry.load(PACKAGE, name), FASTER.get(name))


@pytest.mark.parametrize("edge", STREAMS)
@pytest.mark.parametrize("name", NAMES)
def test_edges_of_data_have_a_result_or_a_refusal(name: str, edge: str) -> None:
    refused = edge_checks.a_result_or_a_refusal(at_the_edge(name), edge)
    if edge != "features of 1e30":
        assert refused is None


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_node_with_100_000_edges_is_learned(name: str) -> None:
    toy = at_the_edge(name)
    groups = [edge_streams.star(100_000), edge_streams.nodes([3, 3])]
    stream = edge_streams.EdgeStream(toy.module, toy.values, groups)
    refused = edge_checks.result_or_refusal(stream, "degree 100,000")
    if name == "tpp":  # a pass over all pairs of so many nodes takes the better part of an hour
        assert refused is not None and refused.endswith("and pretrain_nodes is 50,000")
    else:
        assert refused is None


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_thousands_of_classes_are_learned(name: str) -> None:
    toy = at_the_edge(name)
    most = 10_000 if name in CLOSED else NETS_MOST
    groups = edge_streams.many_classes(most, tasks=10)
    stream = edge_streams.EdgeStream(toy.module, toy.values, groups)
    assert edge_checks.result_or_refusal(stream, f"{most} classes") is None


class LosesItsNumbers(SequentialMethod):
    """Predict with logits that are no numbers. Source: here."""

    facts: ClassVar[Facts] = HONEST

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        return super().logits(query, task_id) * np.nan


class Warns(SequentialMethod):
    """Warn while learning. Source: here."""

    facts: ClassVar[Facts] = HONEST

    def begin(self, data: TaskData) -> None:
        np.float32(1) / np.zeros(1, np.float32)


@pytest.mark.parametrize(
    ("cheater", "words"),
    [
        (LosesItsNumbers, "logits of task index 0 are not finite"),
        (Warns, "a warning: divide by zero"),
    ],
)
def test_who_has_no_defined_result_is_caught(cheater: type[Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        edge_checks.a_result_or_a_refusal(ToyStream(plugin(cheater)), "isolated nodes")
