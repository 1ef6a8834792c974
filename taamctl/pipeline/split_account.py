"""What a split has and what it leaves out, in lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NotRequired, TypedDict

from taamctl.core.types import PARTS
from taamctl.store.artefacts import Artefact
from taamctl.store.split_kind import SPLIT


class Dropped(TypedDict):
    """A class that is left out."""

    name: str
    nodes: int
    reason: str


class Account(TypedDict):
    """The attribute `account` of a split; the last three only where the graph states them."""

    edges_stored: int
    edges_used: int
    dropped: list[Dropped]
    unlabelled: tuple[int, str]
    tasks: NotRequired[object]
    parts: NotRequired[str]
    left_out: NotRequired[int]


def of(split: Artefact) -> Account:
    """Return the account of an open split."""
    account: Account = json.loads(split.attribute("account"))
    return account


def lines(path: Path) -> Iterator[str]:
    """Yield counts and warnings of one split."""
    with Artefact(path, SPLIT) as split:
        account = of(split)
        table = split.read("account/table")  # a row per (task, part): nodes, edges, -, isolated
        counts = split.read("classes/count")
        names = split.read("classes/name").tolist()
        bounds = split.read("stream/bounds").tolist()
        params = split.params["split"]
    nodes = int(table[:, 0].sum())
    kept = int(table[:, 1].sum())
    yield (
        f"  {len(table) // 3} tasks, {len(names)} classes, {nodes:,} nodes; edges "
        f"{account['edges_stored']:,} stored, {account['edges_used']:,} directed entries used, "
        f"{kept:,} inside a part ({100 * kept / max(1, account['edges_used']):.1f} %)"
    )
    for p, part in enumerate(PARTS):
        n, e, _, isolated = table[p::3].sum(axis=0)
        yield (
            f"  {part:5s} {n:>9,} nodes  {e:>11,} edges  {isolated:>8,} isolated "
            f"({100 * isolated / max(1, n):.1f} %)"
        )
    worst = table[2::3, 3] / table[2::3, 0].clip(min=1)
    yield (
        f"  most isolated test graph: task {int(worst.argmax()) + 1}, {100 * worst.max():.1f} % of "
        "its nodes"
    )
    for dropped in account["dropped"]:
        rule = " (small_class: drop)"
        if dropped["reason"].startswith("leftover"):
            rule = ""
        yield (
            f"  left out: class {dropped['name']} ({dropped['nodes']:,} nodes): "
            f"{dropped['reason']}{rule}"
        )
    yield from _tasks(account, params["classes_per_task"], params["odd_class"], bounds, names)
    yield from _parts(account)
    filled = [counts[:, p].any() for p in range(len(PARTS))]
    for part, some in zip(PARTS, filled, strict=True):
        if not some:
            yield f"  warning: no class has a node in {part}: nothing is measured on it"
    for name, row in zip(names, counts, strict=True):
        empty = [part for part, n, some in zip(PARTS, row, filled, strict=True) if some and n == 0]
        if empty:
            yield (
                f"  warning: class {name} has no node in: {', '.join(empty)}; it is left out of "
                "that part's means"
            )


def _tasks(
    account: Account, size: int, policy: str, bounds: list[tuple[int, int]], names: list[str]
) -> Iterator[str]:
    """Yield where the graph itself states the tasks, or what became of leftover classes."""
    low, high = bounds[-1]
    if "tasks" in account:
        sizes = ", ".join(str(b - a) for a, b in bounds)
        yield f"  tasks: as the graph states them, {sizes} classes"
    elif high - low > size:
        joined = ", ".join(names[low + size :])
        yield f"  leftover: {joined} joined the last task (odd_class: {policy})"
    elif high - low < size:
        left = ", ".join(names[low:])
        yield f"  leftover: {left} became a task of {high - low} (odd_class: {policy})"


def _parts(account: Account) -> Iterator[str]:
    """Yield what decided on the parts, where no seed did, and the nodes without a label."""
    if "parts" in account:
        rule = "by time, the oldest nodes of a class for training"
        lacking = "time"
        if account["parts"] == "given":
            rule = "as the graph states them"
            lacking = "part"
        out = ""
        if account["left_out"]:
            out = f"; {account['left_out']:,} nodes without a {lacking} left out"
        yield f"  parts: {rule}{out}"
    unlabelled, treated = account["unlabelled"]
    if unlabelled:
        yield f"  unlabelled nodes: {unlabelled:,}, {treated}"
