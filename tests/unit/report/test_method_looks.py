from __future__ import annotations

import numpy as np

from taamctl.core import registry
from taamctl.report import method_looks
from taamctl.report.method_looks import PLACES, looks, of


def test_every_packaged_method_has_a_place_and_no_two_look_alike() -> None:
    assert sorted(PLACES) == sorted(registry.builtin("taamctl.methods"))
    found = [of(method) for method in PLACES]
    assert len({(look.colour, look.marker) for look in found}) == len(PLACES)
    assert len({(look.colour, look.line) for look in found}) == len(PLACES)
    # those that often stand side by side: in colour, and where there is none
    assert len({look.colour for look in found[:7]}) == 7
    assert len({look.marker for look in found[:7]}) == 7


def test_a_method_looks_the_same_whatever_stands_beside_it() -> None:
    rng = np.random.default_rng(4)
    others = [f"plugin{at}" for at in range(40)]
    for _ in range(200):
        drawn = [*rng.choice(PLACES, 6), *rng.choice(others, 6)]
        methods = [str(name) for name in rng.permutation(drawn)]
        found = looks(methods)
        assert len({(look.colour, look.marker) for look in found}) == len(found)
        first = {name: found[methods.index(name)] for name in methods}
        for name, look in first.items():
            assert look.colour == of(name).colour
            assert name not in PLACES or look == of(name)


def test_rows_of_one_method_share_its_colour_and_are_told_apart() -> None:
    found = looks(["taam"] * 8)
    assert {look.colour for look in found} == {of("taam").colour}
    assert len({look.marker for look in found}) == 8
    # more rows than looks: the last ones repeat
    assert len(looks(["taam"] * 20)) == 20


def test_a_plugin_that_would_look_like_a_packaged_method_gives_way() -> None:
    twin = next(name for at in range(10_000) if of(name := f"m{at}") == of("analytic"))
    mine, theirs = looks([twin, "analytic"])
    assert theirs == of("analytic")
    assert mine.colour == theirs.colour and mine.marker != theirs.marker
    assert method_looks.place(twin) != method_looks.place("taam")
