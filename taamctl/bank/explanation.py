"""What is said of why a node is answered as it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NearClass:
    """A class: its number of the task, its probability, and the cosine of the node's profile and
    the class's mean profile.
    """

    name: str
    task: int
    probability: float
    likeness: float


@dataclass(frozen=True)
class HopSays:
    """What S^hop X alone would be answered, and with it the probability of the node's answer."""

    hop: int
    answer: str
    of_the_answer: float


@dataclass(frozen=True)
class Neighbour:
    """A node that sends to this one, and what it is answered."""

    node: str
    answer: str
    confidence: float
    unknown: bool


@dataclass(frozen=True)
class Explanation:
    """Why a node is answered as it is.

    Attributes:
        nearest: the likeliest classes. hops: what every hop alone says.
        carried: the hop that alone is surest of the answer.
        neighbours: those that are answered too. others: how many are of the context.
    """

    node: str
    answer: str
    confidence: float
    unknown: bool
    nearest: tuple[NearClass, ...]
    hops: tuple[HopSays, ...]
    carried: int
    neighbours: tuple[Neighbour, ...]
    others: int
