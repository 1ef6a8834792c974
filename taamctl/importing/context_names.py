"""The names of another graph's nodes, while files are read whose edges may lead there: with them it
is guessed what the ends of edges are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

ELSEWHERE: ContextVar[frozenset[str]] = ContextVar("ELSEWHERE", default=frozenset())


@dataclass(frozen=True)
class Context:
    """The names of another graph's nodes, and the file that it lies in."""

    names: frozenset[str]
    where: str


@contextmanager
def known(other: Context | None) -> Iterator[None]:
    """Let edges end at the nodes of another graph too, where there is one."""
    names: frozenset[str] = frozenset()
    if other is not None:
        names = other.names
    token = ELSEWHERE.set(names)
    try:
        yield
    finally:
        ELSEWHERE.reset(token)
