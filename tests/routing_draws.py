"""Draw graphs that differ in all that routing depends on, and count how often it fails and how
often that was said before.

    python tests/routing_draws.py --draws 200 --seed 0
    python tests/routing_draws.py --draws 200 --seed 3 --seed 4   # counted together
    python tests/routing_draws.py --seed 3 --keep tests/golden/routing_draws.json
    python tests/routing_draws.py --table tests/golden/routing_draws.json

`--keep` adds the counts of every seed to a file, and draws no seed that is in it already; `--table`
prints the table of docs/routing.md from it.

Every graph is split, propagated and routed as `taamctl run` does it. What validation says is
compared with what became of the test graphs. Accuracies are those of a ridge regression per task on
H = S^2 X. Printed are, of the published routing and of `auto`: on how many graphs a test graph was
routed wrong, and of these on how many that was warned of; on how many all were routed right, of
these by luck (of some task fewer than 9 in 10 halves of the test nodes are routed right), and of
those without luck on how many was warned in vain. Exit code 1 where a bound does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from taamctl.core.routings import LINEAR, PROTOTYPES, name
from taamctl.core.types import Array, NodeGraph, QueryGraph, StreamInfo, Task, TaskData
from taamctl.evaluation import routing as judgement
from taamctl.features import group_features
from taamctl.graph.block_model import draw_edges
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.learning.routing import halves, routing_choice
from taamctl.learning.routing.linear_routing import RouterSettings
from taamctl.learning.routing.routing_choice import Asked
from taamctl.params import params_file, sections
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams, LensParams
from taamctl.stream.task_split import Facts, make_split

PARTS = ("train", "val", "test")
PUBLISHED = ("amp", "cosine")
SAFELY = 0.9  # of the halves of every task's test nodes are right, where it was no luck
CHOSEN_ON = ("0", "1", "2", "3")  # seeds that the limits of taamctl were set on
WIDTH = 64  # of the node profiles of the routers that learn from sums


@dataclass(frozen=True)
class Dials:
    """What a graph is drawn with.

    Attributes:
        classes: number of classes, two a task. nodes: of the largest class.
        imbalance: by which the largest class is larger than the smallest.
        homophily: probability that an edge joins two nodes of a class. degree: mean of nodes.
        signal: distance between the classes of a task. distance: between the means of two tasks.
        along: share of that distance in the direction that all nodes have in common.
        common: length of what all nodes have in common. The noise of a node has length 1.
        features: F.
    """

    classes: int
    nodes: int
    imbalance: float
    homophily: float
    degree: float
    signal: float
    distance: float
    along: float
    common: float
    features: int


def dials(rng: np.random.Generator) -> Dials:
    """Draw the dials."""
    return Dials(
        classes=int(rng.choice([4, 6, 8, 12])),
        nodes=int(rng.integers(80, 320)),
        imbalance=float(np.exp(rng.uniform(0, np.log(8)))),
        homophily=float(rng.uniform(0.1, 0.95)),
        degree=float(rng.uniform(2, 12)),
        signal=float(np.exp(rng.uniform(np.log(0.1), np.log(2)))),
        distance=float(rng.uniform(0, 3)),
        along=float(rng.choice([0.0, rng.uniform(0, 1), 0.95])),
        common=float(rng.choice([0.0, rng.uniform(0, 5)])),
        features=int(rng.choice([16, 32, 64])),
    )


def graph(d: Dials, seed: int) -> NodeGraph:
    """Draw a graph."""
    rng = np.random.default_rng([seed, 1])
    sizes = d.nodes * d.imbalance ** -rng.permutation(np.linspace(0, 1, d.classes))
    labels = rng.permutation(np.repeat(np.arange(d.classes), np.maximum(8, sizes.astype(int))))

    def direction() -> Array:
        drawn = rng.standard_normal(d.features)
        return np.asarray(drawn / np.linalg.norm(drawn))

    shared = direction()
    means = []
    for task in range(d.classes // 2):
        apart = d.distance * (d.along * task * shared + (1 - d.along) * direction())
        split = d.signal / 2 * direction()
        middle = d.common * shared + apart
        means += [middle + split, middle - split]
    noise = rng.standard_normal((len(labels), d.features)) / np.sqrt(d.features)
    x = (np.array(means)[labels] + noise).astype(np.float32)
    n = len(labels)
    keys = draw_edges(labels, int(n * d.degree / 2), d.classes, d.homophily, seed)
    names = tuple(f"class {c}" for c in range(d.classes))
    return NodeGraph(
        "drawn", adjacency_from_edges(keys // n, keys % n, n, "drawn")[0], x, labels, names
    )


class Drawn:
    """A graph's features, as `precompute` stores them, in memory."""

    _groups: list[dict[str, Array]]

    def __init__(self, drawn: NodeGraph, split: SplitParams, params: PrecomputeParams) -> None:
        made = make_split(drawn, Facts(False, None), split)
        groups = group_features.compute_all(
            drawn.features, made.orig_id, made.offset, made.edges, params, "none"
        )
        self._groups = [g.stored(params) for g in groups]
        self._y = np.split(made.y, made.offset[1:-1])
        bounds = tuple((t.low, t.high) for t in made.stream.tasks)
        self.info = StreamInfo(drawn.features.shape[1], bounds, params.hops)

    known = True  # whether raw features and edges are there

    def holds(self, needs: Sequence[str]) -> bool:
        return self.known

    def _of(self, k: int, part: str) -> dict[str, Array]:
        return self._groups[3 * k + PARTS.index(part)]

    def _query(self, k: int, part: str) -> QueryGraph:
        found = dict(self._of(k, part))
        if "x" in found:
            rows, columns = np.nonzero(found["x"])
            counts = np.bincount(rows, minlength=len(found["x"]))
            found["x_indptr"] = np.concatenate([[0], np.cumsum(counts)])
            found["x_indices"], found["x_data"] = columns, found["x"][rows, columns]
        deg = torch.from_numpy(found["deg"].astype(np.float32))
        return QueryGraph(torch.from_numpy(found["H"]), deg, found)

    def query(self, k: int, part: str, needs: Sequence[str] = ()) -> QueryGraph:
        return self._query(k, part)

    def task(self, k: int, needs: Sequence[str] = ()) -> TaskData:
        q = self._query(k, "train")
        y = torch.from_numpy(self.labels("train")[k])
        return TaskData(Task(k, *self.info.bounds[k]), q.h, y, q.deg, q.extras)

    def labels(self, part: str) -> list[Array]:
        return self._y[PARTS.index(part) :: 3]

    def swapped(self) -> Drawn:
        """Return the same with test in the place of validation, and the other way round."""
        other = copy(self)
        order = [i + (0, 1, -1)[i % 3] for i in range(len(self._y))]
        other._groups = [self._groups[i] for i in order]
        other._y = [self._y[i] for i in order]
        return other

    def means(self, part: str) -> list[tuple[Array, Array] | None]:
        return [
            (self._of(k, part)["hop_mean"].astype(np.float32), self._of(k, part)["ls_mean"])
            for k in range(self.info.num_tasks)
        ]


@dataclass(frozen=True)
class Outcome:
    """What became of one way to route: the share of test graphs routed right, AA, whether a warning
    was given, whether it went well by luck, and by what was routed.
    """

    right: float
    aa: float
    warned: bool
    lucky: bool
    by: str


def accuracies(features: Drawn) -> Array:
    """Return the class-balanced accuracy of every task's own regression on its test graph."""
    found = []
    for k in range(features.info.num_tasks):
        h, y = (features.query(k, "train").h.double(), features.labels("train")[k])
        h = torch.cat([h, torch.ones(len(h), 1)], 1)
        classes = np.unique(y)
        target = torch.from_numpy((y[:, None] == classes).astype(np.float64))
        weight = 1 / target.sum(0)[target.argmax(1)]
        gram = (h * weight[:, None]).T @ h + 1e-3 * torch.eye(h.shape[1])
        solved = torch.linalg.solve(gram, (h * weight[:, None]).T @ (target - 0.5))
        tested = features.query(k, "test").h.double()
        said = classes[(torch.cat([tested, torch.ones(len(tested), 1)], 1) @ solved).argmax(1)]
        true = features.labels("test")[k]
        found.append(np.mean([(said == true)[true == c].mean() for c in np.unique(true)]))
    return np.array(found)


def look(features: Drawn, asked: Asked, accuracy: Array, after: Mapping[str, Array]) -> Outcome:
    """Route a graph one way.

    Args:
        after: by routing, the shares of halves of the test nodes that are routed right.
    """
    made = routing_choice.decide(features, asked)
    t = features.info.num_tasks
    right = made.decisions["test"].choice[-1] == np.arange(t)
    val = float((made.decisions["val"].choice[-1] == np.arange(t)).mean())
    used = made.used[-1]
    chosen = asked.infer.router == "auto"
    shares = made.shares[used][-1].tolist() if used in made.shares else ()
    said = judgement.Evidence(used, val, halves=shares, chosen=chosen)
    return Outcome(
        right=float(right.mean()),
        aa=float((accuracy * right).mean()),
        warned=bool(judgement.doubts(said)),
        lucky=bool(after[used][-1].min() < SAFELY),
        by=used,
    )


@cache
def settings() -> tuple[InferParams, RouterSettings, PrecomputeParams, SplitParams]:
    """Return the packaged parameters, with narrow profiles for the routers that learn from sums."""
    params = sections.Params("packaged", params_file.read(params_file.PACKAGED))
    lens = params.section(LensParams)
    return (
        params.section(InferParams),
        RouterSettings(replace(lens.router, width=WIDTH), lens.temperature),
        params.section(PrecomputeParams),
        params.section(SplitParams),
    )


@contextmanager
def plain_halves() -> Iterator[None]:
    """Draw halves as they are: of test nodes they are no stand-in for another graph."""
    spread, halves.SPREAD = halves.SPREAD, 1.0
    try:
        yield
    finally:
        halves.SPREAD = spread


def one(seed: int, *, fixed: bool = True) -> tuple[Dials, dict[str, Outcome]]:
    """Draw one graph and route it by `auto`, and by every fixed routing where wanted."""
    drawn = dials(np.random.default_rng([seed, 0]))
    infer, linear, precompute, split = settings()
    features = Drawn(graph(drawn, seed), split, precompute)
    accuracy = accuracies(features)
    wanted = {"auto": replace(infer, router="auto"), name(PUBLISHED): infer}
    if fixed:
        for profile, metric in PROTOTYPES:
            wanted[name((profile, metric))] = replace(infer, profile=profile, metric=metric)
        wanted |= {router: replace(infer, router=router) for router in LINEAR}
    asked = {n: Asked(i, PUBLISHED, linear, precompute) for n, i in wanted.items()}
    # by a router that learns from sums: those of prototypes are looked at with every router
    with plain_halves():
        after = routing_choice.decide(
            features.swapped(), replace(asked["auto"], infer=replace(infer, router="ridge"))
        )
    blind = copy(features)  # the others are only to decide: nothing is asked of halves
    blind.known = False
    judged = ("auto", name(PUBLISHED))
    seen = {n: features if n in judged else blind for n in asked}
    return drawn, {n: look(seen[n], a, accuracy, after.shares) for n, a in asked.items()}


def counts(found: Sequence[Outcome]) -> dict[str, int]:
    """Count the graphs whose routing failed on test and how often that had been said, and how
    often it was said in vain.
    """
    failed = [o for o in found if o.right < 1]
    fine = [o for o in found if o.right == 1]
    return {
        "wrong": len(failed),
        "wrong and warned": sum(o.warned for o in failed),
        "right": len(fine),
        "right by luck": sum(o.lucky for o in fine),
        "warned in vain": sum(o.warned and not o.lucky for o in fine),
    }


Found = Sequence[Mapping[str, Outcome]]


def summary(every: Found) -> dict[str, object]:
    """Return the counts of the published routing and of `auto`, and the mean AA of all."""
    published = name(PUBLISHED)
    counted = {n: counts([found[n] for found in every]) for n in (published, "auto")}
    failing = [found for found in every if found[published].right < 1]
    aa = {n: float(np.mean([found[n].aa for found in every])) for n in every[0]}
    there = {n: float(np.mean([f[n].aa for f in failing])) for n in ("auto", published)}
    return {"draws": len(every), "counts": counted, "mean AA": aa, "where cosine fails": there}


def misses(found: Mapping[str, Any]) -> list[str]:
    """Return which bounds of a summary do not hold."""
    out = []
    for n, c in found["counts"].items():
        if c["wrong and warned"] < 0.95 * c["wrong"]:
            out.append(f"{n}: of {c['wrong']} wrong only {c['wrong and warned']} were warned of")
        if c["warned in vain"] > 0.05 * found["draws"]:
            out.append(f"{n}: {c['warned in vain']} of {found['draws']} were warned in vain")
    aa = dict(found["mean AA"])
    auto = aa.pop("auto")
    if auto < max(aa.values()) - 0.01:
        out.append(f"auto has AA {auto:.3f}, the best fixed routing {max(aa.values()):.3f}")
    if found["where cosine fails"]["auto"] <= found["where cosine fails"][name(PUBLISHED)]:
        out.append("auto is no better where cosine fails")
    return out


def unwarned(every: Found, routing: str) -> list[int]:
    """Return the numbers of the draws that went wrong without a warning."""
    outcomes = [found[routing] for found in every]
    return [at for at, o in enumerate(outcomes) if o.right < 1 and not o.warned]


def keep(file: Path, seed: int, every: Found) -> None:
    """Add what came of a seed to a file."""
    there = kept_draws(file)
    missed = {n: unwarned(every, n) for n in (name(PUBLISHED), "auto")}
    there[str(seed)] = {**summary(every), "unwarned": missed}
    ordered = {n: there[n] for n in sorted(there, key=int)}
    file.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def kept_draws(file: Path) -> dict[str, Any]:
    """Return what a file holds, by seed."""
    if not file.is_file():
        return {}
    return dict(json.loads(file.read_text(encoding="utf-8")))


def interval(hits: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    z = 1.959964
    middle = (hits + z * z / 2) / (of + z * z)
    half = z * np.sqrt(hits * (of - hits) / of + z * z / 4) / (of + z * z)
    return float(max(0.0, middle - half)), float(min(1.0, middle + half))


def table(kept: Mapping[str, Any]) -> str:
    """Return the table of the docs: the seeds that limits were set on, and the others."""
    heads = ("seeds", "graphs", "routing", "wrong on test", "of these warned", "right")
    heads += ("by luck", "warned in vain", "AA", "AA where cosine fails")
    rows = [heads, ("---",) * len(heads)]
    groups = [[s for s in kept if (s in CHOSEN_ON) == chosen] for chosen in (True, False)]
    for seeds in filter(None, groups):
        for routing in (name(PUBLISHED), "auto"):
            rows.append(_row(seeds, [kept[s] for s in seeds], routing))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(seeds: Sequence[str], found: Sequence[Mapping[str, Any]], routing: str) -> tuple[str, ...]:
    """Return a row of the table: counts added up, and AA averaged over draws."""
    draws = sum(one["draws"] for one in found)
    total = {k: sum(f["counts"][routing][k] for f in found) for k in found[0]["counts"][routing]}
    failing = [one["counts"][name(PUBLISHED)]["wrong"] for one in found]
    aa = np.average([one["mean AA"][routing] for one in found], weights=[f["draws"] for f in found])
    there = np.average([one["where cosine fails"][routing] for one in found], weights=failing)
    return (
        f"{seeds[0]} to {seeds[-1]}",
        f"{draws:,}",
        routing,
        f"{total['wrong']:,}",
        _share(total["wrong and warned"], total["wrong"]),
        f"{total['right']:,}",
        f"{total['right by luck']:,}",
        _share(total["warned in vain"], draws),
        f"{100 * aa:.1f}",
        f"{100 * there:.1f}",
    )


def _share(hits: int, of: int) -> str:
    """Return a count, its share in per cent and the interval of that."""
    low, high = interval(hits, of)
    return f"{hits:,} = {100 * hits / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def main() -> int:
    """Draw, print and judge."""
    about, _, _ = str(__doc__).partition("\n")
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, action="append", help="default: 0")
    parser.add_argument("--keep", type=Path, help="a file that the counts are added to")
    parser.add_argument("--table", type=Path, help="print the table of such a file, draw nothing")
    parser.add_argument("--verbose", action="store_true", help="a line of JSON for every graph")
    options = parser.parse_args()
    if options.table:
        print(table(kept_draws(options.table)))
        return 0
    every = []
    for seed in options.seed or [0]:
        if options.keep and str(seed) in kept_draws(options.keep):
            continue
        of_seed = []
        for at in range(options.draws):
            drawn, found = one(1000 * seed + at)
            of_seed.append(found)
            if options.verbose:
                shown = {n: asdict(o) for n, o in found.items()}
                print(json.dumps({"dials": asdict(drawn), **shown}))
        every += of_seed
        if options.keep:
            keep(options.keep, seed, of_seed)
    if not every:
        return 0
    result = summary(every)
    print(json.dumps(result, indent=1))
    wrong = misses(result)
    print("\n".join(wrong) or "all bounds hold", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
