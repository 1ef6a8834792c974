"""What a replay is asked for beside data sets, methods and seeds."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.errors import TaamctlError

TIMES = ("given", "random")
EXPERTS = ("retrain", "stay")
OLD_ROWS = ("shown", "now")
SNAPSHOTS = 10  # unless a call says otherwise
MOST = 1000  # snapshots of one replay


@dataclass(frozen=True)
class StreamOptions:
    """How a graph is cut into snapshots, and what is held back.

    Attributes:
        snapshots: how many, of about equal node counts; None where `every` decides.
        every: units of time of one snapshot; None where `snapshots` decides.
        times: `given` (those of the graph) or `random` (drawn, a class beginning after the other).
        draw: seed of random times, and of the nodes that are held back.
        held: share of a snapshot's nodes of a class whose labels are never shown.
        unknown: share of nodes of known classes that may be called unknown.
        experts: `retrain` a task's own model when nodes of its classes arrive, or let it `stay`.
        old_rows: in sums a node counts as it lay when its label was `shown`, or as it lies `now`,
            after every snapshot.
    """

    snapshots: int | None
    every: float | None
    times: str
    draw: int
    held: float
    unknown: float
    experts: str
    old_rows: str

    def __post_init__(self) -> None:
        if self.snapshots is not None and self.every is not None:
            raise TaamctlError(
                f"--snapshots {self.snapshots} and --every {self.every:g} both cut the stream",
                "give one of them",
            )
        for option, value, choices in (
            ("times", self.times, TIMES),
            ("experts", self.experts, EXPERTS),
            ("old-rows", self.old_rows, OLD_ROWS),
        ):
            if value not in choices:
                raise TaamctlError(
                    f"--{option} {value[:60]}: no such choice", f"there are: {', '.join(choices)}"
                )
        if not 2 <= self.count <= MOST:
            raise TaamctlError(
                f"--snapshots {self.snapshots}: a replay has 2 to {MOST:,}",
                "with one snapshot nothing is predicted before it is learned",
            )
        if self.every is not None and not 0 < self.every < float("inf"):
            raise TaamctlError(
                f"--every {self.every:g}: no span of time",
                "give a number above 0, in the unit of the graph's times",
            )
        for option, share in (("held", self.held), ("unknown", self.unknown)):
            if not 0 <= share < 1:
                raise TaamctlError(
                    f"--{option} {share:g}: a share lies between 0 and 1",
                    f"leave it out, or write a fraction, such as --{option} 0.1",
                )

    @property
    def count(self) -> int:
        """Return how many snapshots are asked for, where their number is."""
        return self.snapshots or (SNAPSHOTS if self.snapshots is None else 0)
