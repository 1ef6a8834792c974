"""Everything that is reported of one (data set, method, seed). Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from taamctl.core.types import SCOPES, Array
from taamctl.evaluation import confusion, cost, data_account, matrix, node_sampling, routing
from taamctl.evaluation.matrix import ByStage
from taamctl.evaluation.record import (
    Cost,
    Evaluation,
    Metrics,
    Number,
    PartSummary,
    ScopeSummary,
    TaskIdSummary,
    number,
    numbers,
)

AVERAGINGS = ("balanced", "micro")
ARRAYS = ("y", "task", "decision", "similarity", "margin", "grid")
PREDICTIONS = ("legacy", *SCOPES)
# How the decisions were made and how sure they are; not in artefacts from before that was known.
ROUTING = ("routing/used", "routing/name", "routing/halves")


@dataclass(frozen=True)
class Stored:
    """What a method keeps beside the backbone, in float32 words; `rows` counts stored rows."""

    parameters: int
    rows: int
    uncounted: int


@dataclass(frozen=True)
class Facts:
    """What `infer` records of the model; see `Evaluation` for the words."""

    title: str
    family: str
    source: str
    variant: str
    scope: str
    task_id: str
    routed: tuple[str, ...]
    settings: dict[str, object]
    stored: Stored
    num_features: int
    prototype_width: int


@dataclass(frozen=True)
class Dropped:
    """A class that the split left out."""

    name: str
    nodes: int
    reason: str


@dataclass(frozen=True)
class Account:
    """What the split left out, and what the graph itself stated: `tasks`, `parts`."""

    dropped: list[Dropped] = field(default_factory=list)
    tasks: str = ""
    parts: str = ""


@dataclass(frozen=True)
class Inputs:
    """What one evaluation is made from.

    Attributes:
        facts, account: JSON of the `infer` and the `split` artefact.
        split, infer: the parameters of those.
        classes, bounds: names [C], class ranges [T, 2].
        parts: by part, the arrays named in `ARRAYS`.
        predictions: by part, those named in `PREDICTIONS`, [T, N] each.
        routing: those named in `ROUTING`; none where they were not kept.
        counts: those named in `data_account.ARRAYS`.
    """

    facts: str
    account: str
    split: Mapping[str, object]
    infer: object
    classes: list[str]
    bounds: Array
    parts: Mapping[str, Mapping[str, Array]]
    predictions: Mapping[str, Mapping[str, ByStage]]
    routing: Mapping[str, Array] = field(default_factory=dict)
    counts: Mapping[str, Array] = field(default_factory=dict)


def evaluate(dataset: str, method: str, seed: int, averaging: str, inputs: Inputs) -> Evaluation:
    """Return the evaluation of one run; its headline numbers use `averaging`."""
    facts = msgspec.json.decode(inputs.facts, type=Facts)
    account = msgspec.json.decode(inputs.account, type=Account)
    bounds = inputs.bounds
    y = inputs.parts["test"]["y"]
    split = inputs.split["split"]
    assert isinstance(split, Mapping)
    return Evaluation(
        dataset=dataset,
        method=method,
        seed=seed,
        title=facts.title,
        family=facts.family,
        source=facts.source,
        profile=facts.variant,
        scope=facts.scope,
        averaging=averaging,
        unit="graph",
        protocol="grouped",
        split=split_policy(split, account),
        task_id_kind=facts.task_id,
        routed=list(facts.routed),
        settings={**inputs.split, "infer": inputs.infer, **facts.settings},
        classes=inputs.classes,
        bounds=bounds.tolist(),
        flags=flags(y, bounds, inputs.classes, account.dropped),
        one_class_tasks=one_class_tasks(y, bounds),
        thin_classes=node_sampling.thin_classes(
            np.bincount(y, minlength=int(bounds[-1][1])), bounds, averaging, inputs.classes
        ),
        data=data_account.account(inputs.account, inputs.counts),
        parameters=costs(facts, len(bounds)),
        parts={
            part: part_summary(
                arrays,
                inputs.predictions[part],
                bounds,
                (facts.task_id, facts.routed[-1]),
                sureness(inputs.routing, part),
            )
            for part, arrays in inputs.parts.items()
        },
    )


def scope_summary(
    y: Array, task: Array, predicted: ByStage, bounds: Array
) -> dict[str, ScopeSummary]:
    """Return the summary of one logit scope by averaging."""
    out = {}
    for averaging in AVERAGINGS:
        m = matrix.accuracy_matrix(y, task, predicted, bounds, averaging)
        low, high = node_sampling.aa_interval(y, predicted[-1], bounds, averaging)
        out[averaging] = ScopeSummary(
            matrix=[numbers(row) for row in m],
            aa=number(matrix.average_accuracy(m)),
            aa_low=number(low),
            aa_high=number(high),
            aa_curve=numbers(matrix.accuracy_curve(m)),
            bwt=number(matrix.backward_transfer(m)),
            af=number(matrix.average_forgetting(m)),
        )
    return out


@dataclass(frozen=True)
class Sureness:
    """How the decisions of a part were made and how sure they are, as `TaskIdSummary` has it."""

    routed_by_stage: list[str] = field(default_factory=list)
    halves: list[Number] = field(default_factory=list)
    surest: dict[str, Number] = field(default_factory=dict)


def sureness(arrays: Mapping[str, Array], part: str) -> Sureness:
    """Return how sure the decisions after the last stage are.

    Args:
        arrays: those named in `ROUTING`; none where they were not kept.
        part: halves are of validation nodes, so `test` has none.
    """
    if not arrays:
        return Sureness()
    used, names, halves = (arrays[name] for name in ROUTING)
    by_stage = [str(name) for name in used]
    if part != "val":
        return Sureness(by_stage)
    last = dict(zip(map(str, names), halves[:, -1], strict=True))
    own = numbers(last.get(by_stage[-1], np.zeros(0)))
    return Sureness(by_stage, own, {name: _smallest(shares) for name, shares in last.items()})


def _smallest(shares: Array) -> Number:
    known = shares[~np.isnan(shares)]
    return number(known.min(initial=np.inf))


def part_summary(
    arrays: Mapping[str, Array],
    predicted: Mapping[str, ByStage],
    bounds: Array,
    routed: tuple[str, str],
    sure: Sureness = Sureness(),
) -> PartSummary:
    """Return one part's summary.

    Args:
        arrays: those named in `ARRAYS`, as in the `infer` artefact.
        predicted: those named in `PREDICTIONS`. `legacy` explains printed values only: the final
            model stands in for every stage's model.
        routed: how the method gets its task IDs: `inferred`, `given` or `none`; and the metric of
            the inference, such as `cosine`, or its router.
        sure: how sure the decisions are.
    """
    y = arrays["y"]
    task = arrays["task"]
    kind, metric = routed
    last = {scope: predicted[scope][-1] for scope in SCOPES}
    legacy = {
        averaging: matrix.accuracy_matrix(y, task, predicted["legacy"], bounds, averaging)
        for averaging in AVERAGINGS
    }
    accuracy = numbers(matrix.task_id_accuracy(arrays["decision"]))
    margins = arrays["margin"][-1]
    margins = margins[~np.isnan(margins)]
    return PartSummary(
        nodes=len(y),
        class_nodes=np.bincount(y, minlength=int(bounds[-1][1])).tolist(),
        scopes={scope: scope_summary(y, task, predicted[scope], bounds) for scope in SCOPES},
        legacy_af={
            averaging: number(matrix.average_forgetting(found))
            for averaging, found in legacy.items()
        },
        class_recall={
            scope: numbers(matrix.class_recall(y, last[scope], int(bounds[-1][1])))
            for scope in SCOPES
        },
        confused={scope: confusion.confused(y, last[scope]) for scope in SCOPES},
        tasks_answered={
            scope: confusion.tasks_answered(task, last[scope], bounds) for scope in SCOPES
        },
        task_id=TaskIdSummary(
            kind=kind,
            accuracy=accuracy[-1],
            accuracy_by_stage=accuracy,
            decisions=arrays["decision"].tolist(),
            grid=dict(zip(routing.ROUTINGS, numbers(arrays["grid"]), strict=True)),
            nearness=number(routing.nearness(arrays["similarity"][-1], metric)),
            similarity=[numbers(row) for row in arrays["similarity"][-1]],
            margins=numbers(arrays["margin"][-1]),
            smallest_margin=number(margins.min(initial=np.inf)),
            routed_by_stage=sure.routed_by_stage,
            halves=sure.halves,
            surest=sure.surest,
        ),
    )


def flags(y: Array, bounds: Array, class_names: list[str], dropped: Sequence[Dropped]) -> list[str]:
    """Name the classes that are not in the stream, and those without a test node: they are left out
    of every mean.

    Args:
        y: [N] test labels.
    """
    counts = np.bincount(y, minlength=int(bounds[-1][1]))
    out = [f"class {d.name} ({d.nodes:,} nodes) is not in the stream: {d.reason}" for d in dropped]
    return out + [
        f"class {class_names[c]} has no test node and is left out of the means"
        for c in np.flatnonzero(counts == 0)
    ]


def one_class_tasks(y: Array, bounds: Array) -> list[int]:
    """Return the tasks, counted from 0, whose test graph holds nodes of one class only: AA does not
    say how well classes are told apart.

    Within a task of one class every answer is right, so its accuracy is that of the task ID; over
    more classes it is that class's recall.

    Args:
        y: [N] test labels. bounds: [T, 2] class ids of the tasks.
    """
    counts = np.bincount(y, minlength=int(bounds[-1][1]))
    return [k for k, (low, high) in enumerate(bounds) if np.count_nonzero(counts[low:high]) == 1]


def costs(facts: Facts, num_tasks: int) -> Cost:
    """Return the additional cost in float32 words, by the paper's rule and in full."""
    stored = facts.stored
    prototypes = num_tasks * facts.prototype_width * (facts.task_id == "inferred")
    base = (stored.parameters, stored.rows, facts.num_features)
    return Cost(
        extra_paper=cost.paper(*base), extra_full=cost.full(*base, stored.uncounted, prototypes)
    )


def split_policy(split: Mapping[str, object], stated: Account = Account()) -> str:
    """Describe the split in a few words, for every row of every table.

    Args:
        split: the `split` parameters.
        stated: the split's account.
    """
    unit = "task" if stated.tasks else "class"
    units = "tasks" if stated.tasks else "classes"
    orders = {
        "natural": "tasks as given" if stated.tasks else "natural class order",
        "time": f"{units} in order of their first node",
    }
    order = orders.get(str(split["class_order"]), f"{unit} order seed {split['order_seed']}")
    if split["node_order"] != "file":
        order += ", reader node order"
    shares = "/".join(f"{100 * float(str(split[p])):g}" for p in ("train", "val", "test"))
    drawn = f"{shares} per class, split seed {split['seed']} (same for all seeds)"
    parts = {
        "given": "parts as given",
        "time": f"{shares} per class, the oldest nodes for training",
    }.get(stated.parts, drawn)
    return f"{parts}, {order}"


def metrics(result: Evaluation) -> Metrics:
    """Return the numbers that `dvc metrics` shows and compares."""
    test = result.parts["test"]
    headline = result.headline
    accuracy = test.task_id.accuracy if result.task_id_kind == "inferred" else None
    by_scope = {scope: test.scopes[scope][result.averaging].aa for scope in SCOPES}
    return Metrics(
        aa=headline.aa,
        af=headline.af,
        bwt=headline.bwt,
        task_id_accuracy=accuracy,
        extra_paper=result.parameters.extra_paper,
        extra_full=result.parameters.extra_full,
        aa_all_seen=by_scope["all_seen"],
        aa_up_to_task=by_scope["up_to_task"],
        aa_task_only=by_scope["task_only"],
    )


def curve_table(result: Evaluation) -> str:
    """Return AA after every stage as CSV; empty where a stage has no model."""
    lines = [f"{t},{_text(aa)}\n" for t, aa in enumerate(result.headline.aa_curve, 1)]
    return "".join(["stage,aa\n", *lines])


def _text(value: Number) -> str:
    return "" if value is None else repr(value)


def decision_table(result: Evaluation) -> str:
    """Return the last stage's task-ID decisions as CSV, one row per query graph; tasks count
    from 1, as in every figure.
    """
    decisions = result.parts["test"].task_id.decisions[-1]
    lines = [f"{j},{k + 1}\n" for j, k in enumerate(decisions, 1) if k >= 0]
    return "".join(["task,decision\n", *lines])
