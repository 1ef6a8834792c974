"""Advice is given only where it was tried: every change that may help is measured on validation
nodes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taamctl.core.errors import TaamctlError
from taamctl.core.types import PARTS
from taamctl.doctor import trial
from taamctl.doctor.trial import Bench
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.planning.costs import REFERENCE
from taamctl.planning.finding import STOP, Finding, Tried, worded

LONGEST = 60.0  # seconds of propagation that all trials together may take, about
PROBED = "AA of the linear probe on validation nodes, task IDs inferred"


def untried(findings: Sequence[Finding], why: str = "not tried") -> list[Finding]:
    """Return the findings, each saying of what may help that nobody tried it."""
    return [_untried(finding, why) for finding in findings]


def _untried(finding: Finding, why: str) -> Finding:
    if not finding.tries:
        return finding
    if finding.changes:
        return replace(finding, mend=f"{finding.mend} ({why})")
    might = ", or ".join(f"set {worded(change)}" for change in finding.tries)
    return replace(finding, mend=_joined(f"{might} ({why})", finding.mend))


def measured(findings: Sequence[Finding], bench: Bench) -> list[Finding]:
    """Return the findings, each with what came out of trying what may help. A change is suggested
    where the interval of its gain lies above 0: the one that gains most.
    """
    wanted = list(dict.fromkeys(change for finding in findings for change in finding.tries))
    if not wanted:
        return list(findings)
    why_not = _why_not(findings, bench, len(wanted))
    if why_not:
        return untried(findings, f"not tried: {why_not}")
    try:
        found = {one.change: one for one in trial.tried(bench, wanted)}
    except TaamctlError as error:
        return untried(findings, f"not tried: {error.message}")
    return [_with_outcome(finding, found) for finding in findings]


def _why_not(findings: Sequence[Finding], bench: Bench, changes: int) -> str:
    """Return why nothing can be tried; empty where it can."""
    if any(finding.level == STOP for finding in findings):
        return "a run would stop"
    if not bench.split.counts[:, PARTS.index("val")].any():
        return "there is no validation node"
    pre = bench.params.section(PrecomputeParams)
    hops = max(1, pre.hops) + max(pre.max_hop, pre.ls_hops)
    entries = bench.split.edges.nnz + len(bench.split.orig_id)
    seconds = (1 + changes) * hops * entries * bench.graph.num_features / REFERENCE.far
    return f"it would take about {seconds:,.0f} s" if seconds > LONGEST else ""


def _with_outcome(finding: Finding, found: dict[str, Tried]) -> Finding:
    tried = tuple(found[change] for change in finding.tries)
    if not tried:
        return finding
    best = max(tried, key=lambda one: one.after)
    said = "; ".join(map(str, sorted(tried, key=lambda one: -one.after)))
    if finding.changes:
        return replace(finding, mend=f"{finding.mend}; tried: {said} ({PROBED})", tried=tried)
    if best.helps:
        mend = _joined(f"set {said} ({PROBED})", finding.mend)
        changes = tuple(best.change.split(" "))
        return replace(finding, mend=mend, changes=changes, tried=tried)
    mend = _joined(f"tried, and no change helps for sure: {said} ({PROBED})", finding.mend)
    return replace(finding, mend=mend, tried=tried)


def _joined(first: str, second: str) -> str:
    return f"{first}; {second}" if second else first
