"""The schema of eval.json: versions, and its page."""

from __future__ import annotations

from pathlib import Path

import pytest

import taamctl
from taamctl.core.errors import TaamctlError
from taamctl.evaluation import record


def test_the_page_of_formats_holds_the_tables_of_fields() -> None:
    page = (Path(taamctl.__file__).parent / "docs/metrics.md").read_text(encoding="utf-8")
    assert record.field_tables() in page


def test_a_newer_version_is_refused_by_its_number() -> None:
    with pytest.raises(TaamctlError, match="has version 4 of taamctl.evaluation"):
        record.read({"kind": record.KIND, "schema_version": 4}, "eval.json")
