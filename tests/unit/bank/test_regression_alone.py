"""Banks without a model per task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from taamctl.bank import add, store
from taamctl.bank.bank import load_bank
from taamctl.bank.forget import forget
from taamctl.bank.graph_source import Source
from taamctl.bank.update import update
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Given


def test_a_bank_of_the_regression_alone_has_no_models(tmp_path, graph, config) -> None:
    made = graph(tuple("abcd"), seed=7, width=0.5)
    for method in ("analytic", "linear_probe"):
        folder = tmp_path / method
        store.create(folder, config(method))
        add.add(folder, Source(graph(("a", "b"))))
        add.add(folder, Source(graph(("c", "d"), seed=1)))
        assert all(found.good for found in verify(folder))
    alone, probes = (load_bank(tmp_path / name) for name in ("analytic", "linear_probe"))
    assert np.array_equal(alone.predict(made).label, probes.predict(made).label)
    assert np.array_equal(alone.predict(made).confidence, probes.predict(made).confidence)
    assert not alone.task(0).state and not alone.shared.method
    for ask in (lambda: alone.predict(made, decide="expert"), lambda: alone.expert(0)):
        with pytest.raises(TaamctlError, match="a bank of analytic has no models of tasks"):
            ask()
    with pytest.raises(TaamctlError, match="a bank of analytic has no models of tasks"):
        config("analytic", "bank.decide=soft")


def test_a_bank_of_the_regression_alone_grows_and_forgets(tmp_path, graph, config) -> None:
    folder = tmp_path / "bank"
    store.create(folder, config("analytic", "bank.sums=class"))
    made = graph(("a", "b"), seed=3)
    names = np.array([f"n{i}" for i in range(made.num_nodes)], object)
    named = Source(replace(made, given=Given(node_id=names)))
    add.add(folder, named)
    gone = names[:3].tolist()
    forget(folder, named, gone)
    assert all(found.good for found in verify(folder))
    update(folder, named)
    assert all(found.good for found in verify(folder))
    never = tmp_path / "never"
    store.create(never, config("analytic", "bank.sums=class"))
    add.add(never, named)
    again, first = load_bank(folder).router.weight, load_bank(never).router.weight
    assert np.array_equal(again.numpy(), first.numpy())
