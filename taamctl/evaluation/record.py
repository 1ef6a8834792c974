"""eval.json and metrics.json as types: what is written, read, checked and documented."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

import msgspec

from taamctl.core.json_kinds import EVALUATION, METRICS
from taamctl.core.types import Array
from taamctl.evaluation.node_sampling import ThinClass

KIND = EVALUATION.versions.kind
VERSION = EVALUATION.versions.present
Number = float | None  # None where a value is not defined; null in the file


def number(value: float) -> Number:
    """Return a value as it is stored: None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def numbers(values: Array) -> list[Number]:
    """Return [n] values as they are stored."""
    return [number(value) for value in values]


def described(meaning: str, **default: Any) -> Any:
    """Declare a field with its meaning; one with a default may be missing from a file."""
    return field(metadata={"meaning": meaning}, **default)


@dataclass(frozen=True, kw_only=True)
class ScopeSummary:
    """One logit scope under one averaging; T tasks."""

    matrix: list[list[Number]] = described("[T, T] accuracy on task j after stage t")
    aa: Number = described("average accuracy after the last stage")
    aa_low: Number = described(
        "lower end of the 95 % interval of `aa` that the nodes of the part leave open", default=None
    )
    aa_high: Number = described("its upper end", default=None)
    aa_curve: list[Number] = described("[T] average accuracy after every stage")
    bwt: Number = described("backward transfer; negative where a method forgets")
    af: Number = described("average forgetting, -BWT")


@dataclass(frozen=True, kw_only=True)
class TaskIdSummary:
    """Task-ID decisions on one part, one per query graph."""

    kind: str = described("`inferred`, `given` or `none`", default="")
    accuracy: Number = described("share of right decisions after the last stage")
    accuracy_by_stage: list[Number] = described(
        "[T] the same after every stage", default_factory=list
    )
    decisions: list[list[int]] = described(
        "[T, T] chosen task; -1: no decision", default_factory=list
    )
    grid: dict[str, Number] = described("the last share for every profile and metric")
    nearness: Number = described(
        "by which share the nearest prototype is nearer than the second, the smallest",
        default=None,
    )
    similarity: list[list[Number]] = described(
        "[T, T] similarity of the query graph of a task (row) to every task's prototype after the "
        "last stage; null where not compared",
        default_factory=list,
    )
    margins: list[Number] = described(
        "[T] the best of a row of `similarity` minus the second best", default_factory=list
    )
    smallest_margin: Number = described("smallest difference of similarities", default=None)
    routed_by_stage: list[str] = described(
        "[T] profile and metric, or router, that decided at every stage", default_factory=list
    )
    halves: list[Number] = described(
        "[T] share of 100 halves of a task's validation nodes whose task is inferred right after "
        "the last stage; on `val` only",
        default_factory=list,
    )
    surest: dict[str, Number] = described(
        "the smallest of these shares for every routing that was looked at; on `val` only",
        default_factory=dict,
    )


@dataclass(frozen=True, kw_only=True)
class PartSummary:
    """One part of the nodes, `val` or `test`."""

    nodes: int = described("nodes of the part", default=0)
    class_nodes: list[int] = described("[C] nodes of every class", default_factory=list)
    scopes: dict[str, dict[str, ScopeSummary]] = described("by logit scope and averaging")
    legacy_af: dict[str, Number] = described(
        "AF with the final model in place of every stage's, by averaging"
    )
    class_recall: dict[str, list[Number]] = described(
        "[C] recall after the last stage, by logit scope", default_factory=dict
    )
    confused: dict[str, list[list[int]]] = described(
        "true class, class that was answered, nodes: every pair that is confused after the last "
        "stage, most nodes first, by logit scope",
        default_factory=dict,
    )
    tasks_answered: dict[str, list[list[int]]] = described(
        "true task, task of the class that was answered, nodes: after the last stage, by logit "
        "scope",
        default_factory=dict,
    )
    task_id: TaskIdSummary = described("task-ID decisions")


@dataclass(frozen=True, kw_only=True)
class PartAccount:
    """What the split left to one part of the nodes."""

    nodes: int = described("nodes")
    edges: int = described("edges inside its query graphs, one per task")
    isolated: int = described("nodes without an edge there")
    between_tasks: int | None = described(
        "edges of the part that join two tasks, which no query graph holds; null where not counted",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class DataAccount:
    """What became of the graph: the counts behind every number."""

    edges_stored: int = described("edges of the graph as it is stored")
    edges_used: int = described("the same as directed entries, after symmetrising")
    edges_kept: int = described("entries inside a (task, part); the others join two of these")
    dropped: list[list[str]] = described("class, nodes and reason of every class left out")
    parts: dict[str, PartAccount] = described("by part: `train`, `val` and `test`")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Additional float32 words beside the backbone."""

    extra_paper: int = described("by the papers' rule: parameters and stored rows")
    extra_full: int = described("in full: prototypes and the rest too")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Everything measured of one (data set, method, seed): eval.json."""

    kind: str = described(f"always `{KIND}`", default=KIND)
    schema_version: int = described("version of this schema", default=VERSION)
    dataset: str = described("data set")
    method: str = described("method")
    seed: int = described("seed of the training")
    title: str = described("the method's name in print")
    family: str = described("the method's family", default="")
    source: str = described("where the method was published", default="")
    profile: str = described("reading of the method; empty where it has one only")
    scope: str = described("logit scope of the headline numbers")
    averaging: str = described("averaging of the headline numbers: `balanced` or `micro`")
    unit: str = described("what one task-ID decision is made for")
    protocol: str = described("`grouped`: a query graph holds one task's nodes")
    split: str = described("the split in words")
    task_id_kind: str = described("`inferred`, `given` or `none`")
    routed: list[str] = described("profile and metric of the inference")
    settings: dict[str, Any] = described("all parameters behind the numbers, by stage")
    classes: list[str] = described("[C] names of the classes", default_factory=list)
    bounds: list[list[int]] = described("[T, 2] class range of every task", default_factory=list)
    flags: list[str] = described("classes left out, in words")
    one_class_tasks: list[int] = described(
        "tasks, from 0, with test nodes of one class only", default_factory=list
    )
    thin_classes: list[ThinClass] = described(
        "classes with fewer than ten test nodes: `name`, `nodes`, and `points`, the per cent of AA "
        "that one node is worth",
        default_factory=list,
    )
    data: DataAccount | None = described("what became of the graph", default=None)
    parameters: Cost = described("cost")
    parts: dict[str, PartSummary] = described("by part: `test` and `val`")

    @property
    def headline(self) -> ScopeSummary:
        """The summary of the test part in the method's own scope and averaging."""
        return self.parts["test"].scopes[self.scope][self.averaging]


@dataclass(frozen=True, kw_only=True)
class Metrics(Cost):
    """The headline numbers on the test part, as `dvc metrics` shows them: metrics.json."""

    kind: str = described(f"always `{METRICS.versions.kind}`", default=METRICS.versions.kind)
    schema_version: int = described("version of this schema", default=METRICS.versions.present)
    aa: Number = described("average accuracy in the method's own scope")
    af: Number = described("average forgetting there")
    bwt: Number = described("backward transfer there")
    task_id_accuracy: Number = described("share of right task IDs; null where none is inferred")
    aa_all_seen: Number = described("average accuracy over all classes seen")
    aa_up_to_task: Number = described("the same over classes up to the inferred task's")
    aa_task_only: Number = described("the same over the inferred task's classes")


def read(made: object, origin: str) -> Evaluation:
    """Return an evaluation from what its JSON holds; files from before version 1 are read too.

    Args:
        origin: the file's name, for messages.

    Raises:
        TaamctlError: not an evaluation, or one of a newer version.
    """
    try:
        found = msgspec.convert(EVALUATION.read(made, origin), Evaluation)
    except msgspec.ValidationError:
        raise EVALUATION.unreadable(origin) from None
    return found


def field_tables() -> str:
    """Return the fields of eval.json and metrics.json as Markdown tables, for docs/metrics.md."""
    return "\n\n".join(
        f"**{of.__name__}**: {of.__doc__}\n\n" + "\n".join(_field_rows(of))
        for of in (
            Evaluation,
            DataAccount,
            PartAccount,
            PartSummary,
            ScopeSummary,
            TaskIdSummary,
            Cost,
            Metrics,
        )
    )


def _field_rows(of: type) -> Iterator[str]:
    assert is_dataclass(of)
    yield "| field | type | meaning | may be missing |"
    yield "|---|---|---|---|"
    for each in fields(of):
        optional = each.default is not MISSING or each.default_factory is not MISSING
        kind = str(each.type).replace("Number", "number or null").replace("Any", "value")
        missing = "yes" if optional else ""
        yield f"| `{each.name}` | {kind} | {each.metadata['meaning']} | {missing} |"
