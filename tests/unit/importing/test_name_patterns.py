"""Patterns of names: what they match, and that no name of a file makes them slow."""

import random
from fnmatch import fnmatchcase
from glob import escape

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.importing import column_names, name_patterns
from taamctl.importing.node_labels import plain_labels


def test_names_and_patterns_match_as_a_shell_has_it() -> None:
    draw = random.Random(3)
    for _ in range(300):
        drawn = ["".join(draw.choices("ab[]*?!-", k=draw.randrange(1, 6))) for _ in range(12)]
        names = list(dict.fromkeys(drawn))
        patterns = [*draw.sample(names, 3), "".join(draw.choices("ab[]*?", k=3))]
        found, without = name_patterns.matching(patterns, names)
        assert found == {n for n in names if any(n == p or fnmatchcase(n, p) for p in patterns)}
        assert without == [
            p for p in patterns if not any(n == p or fnmatchcase(n, p) for n in names)
        ]
        names = [name for name in names if escape(name) == name or escape(name) not in names]
        chosen = names[:4]
        stated = name_patterns.exact(chosen, names)
        assert name_patterns.matching(stated, names)[0] == set(chosen)


def test_long_and_many_names_are_escaped_without_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    real = name_patterns.translate
    monkeypatch.setattr(name_patterns, "translate", lambda one: tried.append(one) or real(one))
    for names in (["a", "x" + "[" * 200_000], [f"x[{i}]" for i in range(5000)]):
        stated = name_patterns.exact(names, names)
        assert column_names.matching(stated, names, "a.csv", "features") == tuple(names)
    assert not tried
    assert column_names.matching(["x[[]1?[]]"], names, "a.csv", "ignore")[0] == "x[10]"
    assert len(tried) == 1


def test_labels_without_a_column_are_refused() -> None:
    with pytest.raises(TaamctlError, match=r"a.npz: labels of shape \(3, 0\) hold no class"):
        plain_labels(np.zeros((3, 0)), "a.npz")
