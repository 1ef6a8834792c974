"""The contract of a continual method as checks; a plug-in's own tests run them as ours do.

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_contract(check):
        if why := check(ToyStream(my_method)):
            pytest.skip(why)

A check raises AssertionError with what is wrong and how to mend it, and returns the reason where it
does not apply. That training reads no val or test part needs no check: `learn` is given `TaskData`,
which holds training parts, and `logits` a `QueryGraph`, which has neither labels nor a task index.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import MISSING, asdict, replace
from functools import partial
from itertools import product

import numpy as np
import torch

from taamctl.core.types import SCOPES, Prediction
from taamctl.learning.contract.method import Facts, Method
from taamctl.learning.contract.replay_buffer import rows_of
from taamctl.store.feature_store import EXTRAS
from taamctl.testing.toy_stream import NODES, TOY_TRAIN, States, ToyStream

Check = Callable[[ToyStream], str | None]
BUDGET = 3  # rows that a class of the toy tasks has more than enough of
MAY_FAIL = ("ablation",)  # families whose point can be that something does not work


def facts_are_declared(toy: ToyStream) -> str | None:
    """A method says what it is, in words that the tables use."""
    facts = toy.facts
    assert isinstance(facts, Facts), "Method.facts is no taamctl.learning.contract.method.Facts"
    assert facts.sees in ("current", "all"), (
        f"facts.sees is {facts.sees!r}; it is 'current' or 'all'"
    )
    assert facts.task_id in ("inferred", "given", "none"), (
        f"facts.task_id is {facts.task_id!r}; it is 'inferred', 'given' or 'none'"
    )
    silent = [name for name in ("title", "family", "source", "memory") if not getattr(facts, name)]
    assert not silent, f"facts.{' and facts.'.join(silent)} must say something"
    unknown = {*facts.needs, *facts.query_needs} - set(EXTRAS)
    assert not unknown, (
        f"facts.needs or facts.query_needs names {sorted(unknown)}; there are: {', '.join(EXTRAS)}"
    )
    assert "Source:" in (inspect.getdoc(toy.module.Method) or ""), (
        "the docstring of Method has no 'Source:'; say what it follows"
    )
    scope = toy.make().scope
    assert scope in SCOPES, f"scope is {scope!r}; it is one of {', '.join(SCOPES)}"
    return None


def parameters_are_declared(toy: ToyStream) -> str | None:
    """Every parameter has a sentence and a value that fits, and no default in the dataclass."""
    if toy.module.Params is None:
        return "has no parameters"
    for name, field in toy.module.Params.__dataclass_fields__.items():
        assert field.metadata.get("doc"), (
            f"Params.{name} has no sentence; declare it with taamctl.core.spec.param('...')"
        )
        assert field.default is MISSING, (
            f"Params.{name} has a default; its value belongs into DEFAULTS (or params.yaml), which "
            "is complete"
        )
    toy.make()
    return None


def same_seed_same_bits_and_inputs_untouched(toy: ToyStream) -> str | None:
    """Learning the same twice gives the same bits, and the tasks are as before."""
    data = toy.tasks()
    before = deepcopy(data)
    first = toy.learn(toy.make(), data)
    _same(
        first,
        toy.learn(toy.make(), data),
        "two runs with one seed differ; draw everything from taamctl.core.seeding, and keep "
        "nothing between objects",
    )
    assert any(first), (
        "state() returned nothing at every stage; return the arrays that load() needs"
    )
    for old, new in zip(before, data, strict=True):
        untouched = all(torch.equal(getattr(old, n), getattr(new, n)) for n in ("h", "y", "deg"))
        untouched &= all(np.array_equal(a, new.extras[n]) for n, a in old.extras.items())
        assert untouched, f"learn() changed arrays of task index {new.task.index}; work on copies"
    return None


def results_do_not_depend_on_the_global_random_state(toy: ToyStream) -> str | None:
    """The random states of torch and NumPy are without effect."""
    made = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)
        made.append(toy.learn(toy.make(), toy.tasks()))
    _same(
        made[0],
        made[1],
        "the global random state changes the result; give every draw a "
        "taamctl.core.seeding.torch_generator",
    )
    return None


def state_round_trip_gives_the_same_predictions(toy: ToyStream) -> str | None:
    """A new object that loads the states predicts the same, whatever its own seed is."""
    method, states = toy.loaded()
    fresh = toy.make(seed=99)  # nothing may come from the seed that the state should hold
    fresh.load(method.shared(), states)
    for task_id in range(toy.info.num_tasks):
        query = toy.query(1)
        assert _agree(method.predict(query, task_id), fresh.predict(query, task_id)), (
            f"after load() a new object predicts otherwise for task index {task_id}; what "
            "predictions depend on belongs into state() or shared()"
        )
    return None


def _stages(toy: ToyStream) -> Iterator[tuple[int, int]]:
    """Load every stage's model; yield the stage and the classes seen by then."""
    for stage, (_, seen) in enumerate(toy.info.bounds):
        if toy.learned[0].trains(stage):
            toy.loaded(stage)
            yield stage, seen


def predictions_stay_in_their_scope_and_among_seen_classes(toy: ToyStream) -> str | None:
    """No prediction is a class that is not yet seen, or outside its scope."""
    for stage, seen in _stages(toy):
        for task_id in range(stage + 1):
            low, high = toy.info.bounds[task_id]
            labels = toy.learned[0].predict(toy.query(0), task_id).labels
            assert all(v.shape == (NODES,) and v.dtype == torch.int64 for v in labels.values()), (
                f"predictions must be [{NODES}] int64, one per node; logits() must return [N, seen]"
            )
            highest = int(labels["all_seen"].max())
            assert highest < seen, (
                f"at stage {stage} class {highest} is predicted, but {seen} are seen; cut the "
                "logits to them"
            )
            assert int(labels["up_to_task"].max()) < high, (
                f"up_to_task goes beyond class {high - 1}"
            )
            own = labels["task_only"]
            assert low <= int(own.min()) <= int(own.max()) < high, (
                f"task_only leaves the classes {low}..{high - 1}"
            )
    return None


def node_order_of_a_query_does_not_matter(toy: ToyStream) -> str | None:
    """A node's prediction does not depend on where the node stands in its query graph."""
    method, _ = toy.loaded()
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(0)).tolist()
    plain = method.predict(toy.query(1), 1)
    moved = method.predict(toy.query(1, order=order), 1)
    assert _agree(Prediction({s: v[order] for s, v in plain.labels.items()}), moved), (
        "the same nodes in another order are predicted differently; logits() must treat nodes by "
        "their features and edges alone"
    )
    return None


def queries_leave_no_trace(toy: ToyStream) -> str | None:
    """What was asked before changes no answer: nothing is learned from test nodes."""
    method, _ = toy.loaded()
    first = method.predict(toy.query(1), 1)
    for task_id in range(toy.info.num_tasks):
        method.predict(toy.query(task_id, seed=5), task_id)
    assert _agree(first, method.predict(toy.query(1), 1)), (
        "a query is answered differently after other queries; logits() must change nothing in the "
        "object"
    )
    return None


def a_class_with_one_node_and_a_task_with_one_class(toy: ToyStream) -> str | None:
    """Small classes and tasks are learned without a NaN."""
    method = toy.make()
    states = toy.learn(method, toy.tasks(one_node=True))
    wrong = sorted({name for s in states for name, a in s.items() if not np.isfinite(a).all()})
    assert not wrong, (
        f"a class with one node leaves NaN or infinity in {', '.join(wrong)}; look for means and "
        "deviations of one row"
    )
    method.load(method.shared(), states)
    assert (method.predict(toy.query(2), 2).labels["task_only"] == 4).all(), (
        "the only class of a task must be predicted within it"
    )
    return None


def resuming_equals_going_through(toy: ToyStream) -> str | None:
    """A run that was cut after the second task and goes on gives the same bits."""
    data = toy.tasks()
    first = toy.make()
    if not all(first.trains(k) for k in range(len(data))) or first.facts.sees == "all":
        return "starts anew at every stage: nothing to resume inside"
    states = toy.learn(first, data[:2])
    resumed = toy.make()
    resumed.load(first.shared(), states, first.training_state())
    resumed.learn((data[2],))
    _same(
        [resumed.state()],
        toy.learn(toy.make(), data)[2:],
        "a resumed run differs; load() must install all of state() and training_state()",
    )
    return None


def a_new_object_per_stage_changes_nothing(toy: ToyStream) -> str | None:
    """Training has a new object per stage: what an object keeps beside its states is lost, and
    must not have mattered.
    """
    _same(
        toy.stream(toy.make, toy.tasks()),
        toy.learn(toy.make(), toy.tasks()),
        "one object that learns all tasks differs from a new object per stage; what a later stage "
        "needs belongs into state(), training_state() or shared(), and rows of earlier data into "
        "state arrays below memory/",
    )
    return None


def stages_know_only_their_states(toy: ToyStream) -> str | None:
    """No other way leads from task to task: not a class attribute, not a global, not a file."""
    alone = toy.stream(toy.make, toy.tasks())

    def disturb(k: int) -> None:
        """Let another run pass through, between the earlier tasks and the last one."""
        if k == toy.info.num_tasks - 1:
            toy.learn(toy.make(seed=7), toy.tasks(seed=7))

    _same(
        toy.stream(toy.make, toy.tasks(), disturb),
        alone,
        "another run in the same process changes the result, so data goes from task to task beside "
        "the states: keep nothing in class attributes, module globals or files",
    )
    return None


def memory_is_what_is_declared(toy: ToyStream) -> str | None:
    """Rows, words and optimiser stay within `stored`; the rows declared are the rows kept (at
    most those where ROWS_AT_MOST says so).
    """
    makes: list[Callable[[], Method]] = [toy.make]
    if toy.has_budget:
        makes.append(partial(toy.make, budget=BUDGET))
    for make, one_node in product(makes, (False, True)):
        data = toy.tasks(one_node=one_node)
        kept = sum(rows_of(state) for state in toy.stream(make, data))
        declared = make().stored(toy.sizes(data)).rows
        if toy.facts.memory == "none":
            assert kept == 0, (
                f"{kept} rows of earlier data are kept, but facts.memory is 'none'; say in "
                "words what is kept"
            )
            assert declared == 0 or toy.facts.sees == "all", (
                f"stored() declares {declared} rows, but facts.memory is 'none'"
            )
        elif not getattr(toy.module, "ROWS_AT_MOST", False):
            assert kept == declared, (
                f"{kept} rows are kept, but stored() declares {declared}; count them right, or "
                "set ROWS_AT_MOST = True in the module where the number is only an upper bound"
            )
    return None


def independent_methods_do_not_care_for_order(toy: ToyStream) -> str | None:
    """Where tasks are declared independent, they may be learned in any order."""
    method = toy.make()
    if not method.independent or method.facts.sees == "all":
        return "not declared independent"
    whole = toy.learn(toy.make(), toy.tasks())
    for k in (2, 0, 1):
        method.learn((toy.tasks()[k],))
        _same(
            [method.state()],
            [whole[k]],
            f"task index {k} comes out differently in another order; `independent` must be False",
        )
    return None


def cumulative_methods_keep_their_logits(toy: ToyStream) -> str | None:
    """A method that says that later tasks change no logit is right: a stage's logits are the
    first columns of the last stage's.
    """
    method, _ = toy.learned
    if not method.cumulative:
        return "not declared cumulative"
    early = {
        (stage, j): method.logits(toy.query(j), j)
        for stage, _ in _stages(toy)
        for j in range(stage + 1)
    }
    toy.loaded()
    for (stage, j), before in early.items():
        after = method.logits(toy.query(j), j)[:, : before.shape[1]]
        assert torch.allclose(before, after, rtol=1e-4, atol=1e-5), (
            f"the logits of task index {j} after stage index {stage} are changed by later tasks; "
            "leave `cumulative` false"
        )
    return None


def methods_learn(toy: ToyStream) -> str | None:
    """On separable classes, a task's training nodes are classified right within it, once it is
    learned; and for good if independent.
    """
    if toy.facts.family in MAY_FAIL:
        return f"a method of the family {toy.facts.family!r} need not"
    method = toy.make(train=replace(TOY_TRAIN, epochs=150, lr=0.02, weight_decay=0.0))
    last = toy.info.num_tasks - 1
    states = toy.learn(method, toy.tasks())
    stages = {1} if method.trains(1) else {last}
    if method.independent:
        stages.add(last)
    for stage in stages:
        method.load(method.shared(), states[: stage + 1])
        labels = method.predict(toy.query(1), 1).labels["task_only"]
        share = float((labels == toy.tasks()[1].y).float().mean())
        assert share > 0.9, (
            f"{share:.0%} of well-separated training nodes are right after 150 epochs (stage "
            f"{stage}); does learn() change what logits() uses, and do state() and load() carry it?"
        )
    return None


def stored_counts_are_whole_and_positive(toy: ToyStream) -> str | None:
    """The declared cost is whole numbers."""
    counts = asdict(toy.make().stored(np.array([12, 8, 12, 8, 20])))
    wrong = [f"{name} = {n!r}" for name, n in counts.items() if not isinstance(n, int) or n < 0]
    assert not wrong, (
        f"stored() returns {', '.join(wrong)}; whole numbers of float32 words (int, not NumPy's), "
        "0 or more"
    )
    return None


CHECKS: tuple[Check, ...] = (
    facts_are_declared,
    parameters_are_declared,
    same_seed_same_bits_and_inputs_untouched,
    results_do_not_depend_on_the_global_random_state,
    state_round_trip_gives_the_same_predictions,
    predictions_stay_in_their_scope_and_among_seen_classes,
    node_order_of_a_query_does_not_matter,
    queries_leave_no_trace,
    a_class_with_one_node_and_a_task_with_one_class,
    resuming_equals_going_through,
    a_new_object_per_stage_changes_nothing,
    stages_know_only_their_states,
    memory_is_what_is_declared,
    independent_methods_do_not_care_for_order,
    cumulative_methods_keep_their_logits,
    methods_learn,
    stored_counts_are_whole_and_positive,
)


def _agree(first: Prediction, second: Prediction) -> bool:
    return all(torch.equal(first.labels[s], second.labels[s]) for s in SCOPES)


def _same(first: States, second: States, otherwise: str) -> None:
    """Hold two lists of states to the same names and bits."""
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        differ = [
            name
            for name in sorted({*a, *b})
            if not (name in a and name in b and np.array_equal(a[name], b[name]))
        ]
        more = ", ..." if len(differ) > 4 else ""
        names = ", ".join(differ[:4]) + more
        assert not differ, f"{otherwise}. State {k} differs in {names}."
