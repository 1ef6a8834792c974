"""Whose mixed graph a run looks at."""

from __future__ import annotations

from taamctl.core import registry
from taamctl.core.data_set import data_set
from taamctl.pipeline.own_graphs import is_own


def test_of_the_packaged_data_sets_only_the_embedded_graph_is_looked_at() -> None:
    names = registry.builtin("taamctl.datasets")
    assert [name for name in sorted(names) if is_own(name)] == ["debian"]
    assert {name for name in names if data_set(name).meta.files} > {"citeseer", "photo"}
