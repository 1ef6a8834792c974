"""The cost table of a data set whose class sizes are not on file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taamctl.cli.reproduce_plans import plan_of
from taamctl.cli.shared_options import RawSettings, Writing
from taamctl.pipeline import walk
from taamctl.pipeline.printed_numbers import Table
from taamctl.report import published


def test_class_sizes_come_from_propagated_features_where_none_are_on_file(tmp_path: Path) -> None:
    settings = RawSettings(outputs=tmp_path, data_root=tmp_path)
    plan = plan_of("params", ("synthetic", "reddit"), None, settings, Writing(quiet=True))

    def made() -> dict[tuple[str, str], dict[str, Any]]:
        table = plan.table(("synthetic", "reddit"))
        assert isinstance(table, Table)
        return {(str(r["row"]), str(r["dataset"])): r for r in table.records}

    assert {r["verdict"] for r in made().values()} == {"no data"}
    walk.features(plan.base, "synthetic")
    cells = made()
    path = plan.base.layout.file("precompute", "synthetic")
    with _store(path) as store:
        rows = int(store.class_sizes().sum())
        width = store.info.num_features
    assert cells["Oracle", "synthetic"]["ours"] == rows * (width + 2) / 1e6, (
        "a label counts as two words"
    )
    assert cells["Oracle", "reddit"]["paper"] == 82.56
    assert cells["Oracle", "reddit"]["verdict"] == "no data"
    assert published.register()[28].startswith("The printed maximum of Oracle")


def _store(path: Path) -> Any:
    from taamctl.store.feature_store import FeatureStore

    return FeatureStore(path, "")
