"""Dates as seconds since 1970."""

from __future__ import annotations

import numpy as np
import pytest

from taamctl.importing import cells


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_of_any_unit_are_seconds(unit: str) -> None:
    rng = np.random.default_rng(3)
    expected = rng.integers(-4_000_000_000, 4_000_000_000, 50)
    column = expected.astype("datetime64[s]").astype(f"datetime64[{unit}]")
    column[7] = np.datetime64("NaT")
    found, notes = cells.times(column, "t.parquet", "when")
    assert np.isnan(found[7])
    assert np.array_equal(np.delete(found, 7), np.delete(expected, 7))
    assert notes == ("t.parquet: dates of 'when' taken as seconds since 1970, UTC",)


def test_a_year_that_nanoseconds_cannot_hold_is_read() -> None:
    years = np.array(["1970-01-01", "0033-04-03", "9999-12-31", "-50000-01-01"], "datetime64[s]")
    found, _ = cells.times(years, "t.parquet", "when")
    assert np.array_equal(found, years.astype(np.int64))


def test_written_dates_with_fractions_and_zones() -> None:
    text = np.array(["2026-01-31", "1970-01-01T01:00:00.5+01:00", "", "1969-12-31T23:59:59Z"])
    found, _ = cells.times(text, "t.csv", "when")
    assert found[[0, 1, 3]].tolist() == [1769817600.0, 0.5, -1.0]
    assert np.isnan(found[2])
