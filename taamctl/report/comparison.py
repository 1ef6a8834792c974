"""Methods against each other over class orders, splits and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

from taamctl.core.errors import TaamctlError
from taamctl.core.types import SCOPES
from taamctl.evaluation import statistics
from taamctl.report.comparison_text import conditions
from taamctl.report.report_rows import RunRow
from taamctl.report.same_scope import EVERY
from taamctl.store import atomic_files

Row = Mapping[str, Any]
UNRANKED = "not ranked"
TESTED = (
    "difference",
    "difference_low",
    "difference_high",
    "tested_pairs",
    "p",
    "p_holm",
)  # what the best has not: it faces nobody


@dataclass(frozen=True)
class Cell:
    """One class order with one split: `natural` or the seed of the permutation, and the seed of
    the split.
    """

    order: str
    split: int

    @property
    def folder(self) -> str:
        """Return the name of the cell's output tree."""
        return f"order-{self.order}_split-{self.split}"

    @property
    def label(self) -> str:
        """Return the cell in words."""
        return f"order {self.order}, split {self.split}"


Found = Sequence[
    tuple[Cell, RunRow]
]  # every run of the comparison: its cell and its row of `collect.run_row`


OWN = "own"  # as a scope: each method in its own
AXES = ("dataset", "method", "order", "split", "seed")


def _ranked(methods: list[str], datasets: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the mean rank of every method over the blocks of the data sets, best first."""
    over_blocks: dict[str, list[float]] = {method: [] for method in methods}
    for runs in datasets:
        for method, scores in _scores(runs, by_block=True).items():
            over_blocks[method] += scores.values()
    if not datasets:
        return []
    ranks = statistics.average_ranks(over_blocks)
    best_first = sorted(ranks, key=lambda method: (ranks[method], method))
    return [
        {"method": method, "mean_rank": ranks[method], "blocks": len(over_blocks[method])}
        for method in best_first
    ]


def compared(found: Found, scope: str | None = None) -> dict[str, Any]:
    """Return the whole comparison, accuracies as fractions.

    Args:
        found: the rows of a full grid: every cell with every data set, method and seed.
        scope: the logit scope to compare in; `own` takes every method's, None the one that they
            share, else that of all classes seen.

    Raises:
        TaamctlError: a run without AA.
    """
    scope = _scope_of(found, scope)
    runs = [_run(cell, row, scope) for cell, row in found]
    names = {key: list(dict.fromkeys(run[key] for run in runs)) for key in AXES}
    blocks = len({cell for cell, _ in found})
    by_dataset = [[run for run in runs if run["dataset"] == name] for name in names["dataset"]]
    datasets = [_dataset(own, blocks > 1) for own in by_dataset]
    overall = _ranked(names["method"], list(filter(_defined, by_dataset)))
    result = {
        "metric": "aa",
        "level": statistics.LEVEL,
        "scope": scope or OWN,
        "pair": "block" if blocks > 1 else "seed",
        "orders": names["order"],
        "splits": names["split"],
        "seeds": names["seed"],
        "datasets": datasets,
        "overall": overall,
        "runs": runs,
    }
    return {**result, "conditions": conditions(result, [row for _, row in found], _flags(found))}


def _scope_of(found: Found, asked: str | None) -> str | None:
    """Return the scope to compare in; None: each method's own."""
    if asked is None and len({row.scope for _, row in found}) > 1:
        return EVERY  # a narrower one is an easier task
    return None if asked == OWN else asked


def _run(cell: Cell, row: RunRow, scope: str | None) -> dict[str, Any]:
    aa = row.aa
    af = row.af
    if scope is not None:
        aa = row.aa_by_scope[scope]
        af = row.af_by_scope[scope]
    if aa is None:
        raise TaamctlError(
            f"{row.dataset} {row.method} seed {row.seed} ({cell.label}) has no AA",
            "leave out that data set or that method",
        )
    return {
        "order": cell.order,
        "split": cell.split,
        "block": cell.label,
        "aa": aa,
        "af": af,
        "scope": scope or row.scope,
        "dataset": row.dataset,
        "method": row.method,
        "profile": row.profile,
        "seed": row.seed,
        "aa_by_scope": row.aa_by_scope,
        "aa_defined": row.aa_defined,
        "sha256": row.sha256,
    }


def _defined(runs: Sequence[Row]) -> bool:
    """Tell whether AA has a meaning in every run of a data set."""
    return all(run["aa_defined"] for run in runs)


def _scores(runs: Sequence[Row], *, by_block: bool, of: str = "aa") -> dict[str, dict[str, Any]]:
    """Return per method the score of every pair: a block with its seeds averaged, or a seed;
    None where it is not defined.
    """
    out: dict[str, dict[str, list[Any]]] = {}
    for run in runs:
        out.setdefault(run["method"], {}).setdefault(
            run["block"] if by_block else f"seed {run['seed']}", []
        ).append(run[of])
    return {
        method: {pair: _mean(values) for pair, values in pairs.items()}
        for method, pairs in out.items()
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _dataset(runs: Sequence[Row], by_block: bool) -> dict[str, Any]:
    scores, af = (_scores(runs, by_block=by_block, of=key) for key in ("aa", "af"))
    pairs = list(next(iter(scores.values())))
    values = {method: [scores[method][pair] for pair in pairs] for method in scores}
    if not _defined(runs):
        return _unranked(runs, pairs, values, af)
    comparisons = statistics.all_pairs(values, seeds_are_pairs=not by_block)
    fewest = statistics.fewest_pairs(len(comparisons))
    ordered = statistics.standings(values, comparisons)
    methods = [_standing(s, runs, len(pairs), fewest, list(af[s.method].values())) for s in ordered]
    out: dict[str, Any] = atomic_files.strict(
        {
            "dataset": runs[0]["dataset"],
            "aa_defined": True,
            "pairs": pairs,
            "fewest_pairs": fewest,
            "methods": methods,
            "top_group": statistics.top_group(ordered),
            "comparisons": [asdict(c) for c in comparisons],
        }
    )
    return out


def _standing(
    s: statistics.Standing, runs: Sequence[Row], pairs: int, fewest: int, af: Sequence[float | None]
) -> dict[str, object]:
    """Return one method of a data set, as the comparison holds it."""
    own = [run for run in runs if run["method"] == s.method]
    against = s.against_best
    tested: tuple[object, ...] = (None,) * len(TESTED)
    if against is not None:
        tested = (*astuple(against.difference), against.pairs, against.p, against.p_holm)
    return {
        "dataset": own[0]["dataset"],
        "method": s.method,
        "profile": own[0]["profile"],
        "scope": own[0]["scope"],
        "pairs": pairs,
        "aa": s.score.mean,
        "aa_low": s.score.low,
        "aa_high": s.score.high,
        "af": _mean(af),
        "rank": s.rank,
        **dict(zip(TESTED, tested, strict=True)),
        "verdict": s.verdict,
        "text": verdict(s, pairs, fewest),
        "aa_by_scope": {k: _mean([run["aa_by_scope"][k] for run in own]) for k in SCOPES},
    }


def _unranked(
    runs: Sequence[Row],
    pairs: list[str],
    values: Mapping[str, list[float]],
    af: Mapping[str, dict[str, float | None]],
) -> dict[str, Any]:
    """Return the methods of a data set whose AA has no meaning, in the order given: none is better
    than another.
    """
    methods = []
    for method, scores in values.items():
        own = [run for run in runs if run["method"] == method]
        mean = statistics.t_interval(scores)
        methods.append(
            {
                **{key: own[0][key] for key in ("dataset", "method", "profile", "scope")},
                "pairs": len(scores),
                "aa": mean.mean,
                "aa_low": mean.low,
                "aa_high": mean.high,
                "af": _mean(list(af[method].values())),
                "rank": None,
                **dict.fromkeys(TESTED),
                "verdict": UNRANKED,
                "text": f"{UNRANKED}: test graphs of one class",
                "aa_by_scope": {k: _mean([run["aa_by_scope"][k] for run in own]) for k in SCOPES},
            }
        )
    count = len(values) * (len(values) - 1) // 2
    out: dict[str, Any] = atomic_files.strict(
        {
            "dataset": runs[0]["dataset"],
            "aa_defined": False,
            "pairs": pairs,
            "fewest_pairs": statistics.fewest_pairs(count),
            "methods": methods,
            "top_group": [],
            "comparisons": [],
        }
    )
    return out


def verdict(standing: statistics.Standing, pairs: int, fewest: int) -> str:
    """Return a method's verdict in words; what cannot be told apart is called so, with the reason.

    Args:
        pairs: how many pairs there are. fewest: how many could tell, at the least.
    """
    against = standing.against_best
    if against is None:
        return "best"
    if standing.verdict == "worse":
        return f"worse, {p_text(against.p_holm)} (Holm)"
    if against.difference.low == against.difference.high == 0:
        return "not distinguishable: equal in every pair"
    if against.pairs < pairs:
        return (
            f"not distinguishable: neither depends on the seed, so {pairs} seeds are 1 pair "
            f"({fewest} is the fewest)"
        )
    if pairs < fewest:
        return (
            f"not distinguishable: {pairs} {'pair is' if pairs == 1 else 'pairs are'} too few "
            f"({fewest} is the fewest)"
        )
    return f"not distinguishable, {p_text(against.p_holm)} (Holm)"


def too_few(cells: int, methods: int, seeds: int) -> str:
    """Return what to say before the work where no outcome could tell the methods apart, and what
    would; empty where one could.

    Args:
        cells: how many (class order, split) are to be run. methods, seeds: how many of each.
    """
    pairs, fewest = (
        cells if cells > 1 else seeds,
        statistics.fewest_pairs(methods * (methods - 1) // 2),
    )
    if pairs >= fewest:
        return ""
    more = "--order or --split" if cells > 1 else "--order, --split or --seed"
    return (
        f"{pairs} {'pair is' if pairs == 1 else 'pairs are'} too few to tell {methods} methods "
        f"apart, whatever comes out ({fewest} is the fewest): name more {more}"
    )


def p_text(p: float) -> str:
    """Return `p = 0.03`, never rounded across the level of the test."""
    if p < 0.001:
        return "p < 0.001"
    digits = 2 if (round(p, 2) < statistics.LEVEL) == (p < statistics.LEVEL) and p >= 0.01 else 3
    return f"p = {p:.{digits}f}"


def _flags(found: Found) -> list[str]:
    """Return what the evaluations flag, each once, with the cells where it holds unless that is
    all of them.
    """
    every = {cell for cell, _ in found}
    held: dict[str, dict[Cell, None]] = {}
    for cell, row in found:
        for flag in row.flags:
            held.setdefault(f"{row.dataset}: {flag}", {})[cell] = None
    return sorted(
        flag + ("" if len(cells) == len(every) else f" ({'; '.join(c.label for c in cells)})")
        for flag, cells in held.items()
    )
