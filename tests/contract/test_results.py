"""The kept results, the tables that are made from them, and the numbers in the text."""

from __future__ import annotations

import json
import math
import re
import statistics
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from taamctl.report import published

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "results"
THREE = ("citeseer", "photo", "computer")
# cells; may fall and never rise. The paper names too little for the others. That of TWP's AF on
# Computer comes and goes: as the released code counts it, it swings by ten points over seeds.
NOT_REPRODUCED = 14


@pytest.fixture(scope="module")
def tables(script: Any) -> ModuleType:
    return script("result_tables")


@pytest.fixture(scope="module")
def prose(script: Any) -> ModuleType:
    return script("result_prose")


@pytest.fixture(scope="module")
def kept(tables: ModuleType) -> Any:
    """Return the kept results."""
    if not (GOLDEN / "runs.json").is_file():
        pytest.skip("no results are kept yet: python tests/keep_results.py OUTPUTS makes them")
    return tables.Results.load()


def test_every_mark_in_the_pages_names_a_table_and_is_closed(tables: ModuleType) -> None:
    found = []
    for page in tables.pages():
        text = page.read_text(encoding="utf-8")
        regions = [match[2] for match in tables.REGION.finditer(text)]
        begun = re.findall("^<!-- results:", text, re.MULTILINE)
        ended = re.findall("^<!-- /results -->", text, re.MULTILINE)
        assert len(regions) == len(begun) == len(ended), page
        found += regions
    assert set(found) <= set(tables.TABLES)
    assert {"main", "lens", "readings"} <= set(found)
    assert len(found) == len(set(found)), "a table stands in one place"


def test_the_tables_of_the_pages_are_those_of_the_kept_results(
    tables: ModuleType, kept: Any
) -> None:
    for page in tables.pages():
        differing = tables.differing(page.read_text(encoding="utf-8"), kept)
        assert not differing, f"{page.name}: python tests/result_tables.py writes {differing}"


def test_every_number_of_the_text_has_a_source(
    tables: ModuleType, prose: ModuleType, kept: Any
) -> None:
    known, listed = prose.Known(kept), prose.Elsewhere.load()
    found = []
    for path in tables.pages():
        page = path.relative_to(ROOT).as_posix()
        found += map(str, prose.missing(page, path.read_text(encoding="utf-8"), known, listed))
    assert not found, "\n".join(found)


@pytest.mark.usefixtures("kept")
def test_what_has_another_source_stands_in_the_text(tables: ModuleType, prose: ModuleType) -> None:
    texts = [page.read_text(encoding="utf-8") for page in tables.pages()]
    listed = prose.Elsewhere.load()
    assert not listed.unused(texts)
    assert all([*listed.figures.values(), *listed.sections.values()]), "a source for each"


def test_every_kept_run_has_its_settings_its_hash_and_its_neighbours(kept: Any) -> None:
    made = json.loads((GOLDEN / "runs.json").read_text(encoding="utf-8"))
    for run in kept.runs:
        assert re.fullmatch("[0-9a-f]{64}", run["sha256"])
        names = made["settings"][run["settings"]]
        assert {"split", "precompute", "train", "infer"} <= {n.partition("-")[0] for n in names}
        assert all(name in made["settings"] for name in names)
    for row in published.rows("main"):
        for dataset in THREE:
            assert [run["seed"] for run in kept.of(dataset, row)] == [1, 2, 3], (row.row, dataset)
    assert made["versions"]["torch"]
    size = sum(path.stat().st_size for path in GOLDEN.iterdir())
    assert size < 600_000, "a few hundred KB"


def _cells(tables: ModuleType, kept: Any) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Return the printed cells of the main table -> the rows of ours that stand for one."""
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in published.rows("main"):
        for dataset in THREE:
            for metric in ("aa", "af"):
                if (dataset, metric) in row.cells:
                    made = tables.record(kept, row, dataset, metric)
                    cells.setdefault((row.method, dataset, metric), []).append(made)
    return cells


def test_few_printed_cells_are_not_reproduced_and_each_says_what_was_tried(
    tables: ModuleType, kept: Any
) -> None:
    cells = _cells(tables, kept)
    assert len(cells) == 66, "72 places of 12 rows; Joint and Oracle have no AF"
    wrong = {
        name: found
        for name, found in cells.items()
        if all(record["verdict"] == "not reproduced" for record in found)
    }
    assert len(wrong) <= NOT_REPRODUCED, sorted(wrong)
    for name, found in wrong.items():
        assert any(record["explanation"] for record in found), f"{name}: what was tried?"


def test_nothing_is_called_reproduced_outside_three_standard_errors(
    tables: ModuleType, kept: Any
) -> None:
    """Counted here from the seeds' own numbers; the paper's runs are taken to be five."""
    seen = 0
    for table in ("main", "ablation", "readings"):
        for row in published.rows(table):
            for dataset in THREE:
                for metric in ("aa", "af"):
                    if tables.record(kept, row, dataset, metric)["verdict"] != "reproduced":
                        continue
                    runs = kept.of(dataset, row)
                    values = [100 * run[metric][run["scope"]] for run in runs]
                    printed = row.cells[dataset, metric]
                    error = math.sqrt(
                        printed.std**2 / 5 + statistics.pvariance(values) / len(values)
                    )
                    gap = abs(statistics.fmean(values) - printed.value)
                    assert gap <= 3 * error + 0.05 + 1e-6, (row.row, dataset, metric)
                    seen += 1
    assert seen > 50
