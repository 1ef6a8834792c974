"""The names of another graph's nodes, while files are read whose edges may lead there: with them it
is guessed what the ends of edges are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ELSEWHERE: ContextVar[frozenset[str]] = ContextVar("ELSEWHERE", default=frozenset())


@contextmanager
def known(names: frozenset[str]) -> Iterator[None]:
    """Let edges end at nodes of these names too."""
    token = ELSEWHERE.set(names)
    try:
        yield
    finally:
        ELSEWHERE.reset(token)
