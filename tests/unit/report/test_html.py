from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import yaml
from taamctl.stages import report

from taamctl.core.errors import TaamctlError
from taamctl.params import params_file
from taamctl.params import sections as parameters
from taamctl.report import collect, figure_data, figures, page, pictures, render
from taamctl.report.report_rows import RunRow, over_seeds
from taamctl.runtime.job import Context, Outcome
from taamctl.runtime.layout import Layout

SCOPES = ("all_seen", "up_to_task", "task_only")
EVIL = "<script>alert('x')</script>"


def _run(
    method: str = "taam", title: str = "TAAM", dataset: str = "synthetic", **changed: Any
) -> RunRow:
    made = {
        "dataset": dataset,
        "method": method,
        "title": title,
        "profile": "",
        "seed": 1,
        "part": "test",
        "scope": "all_seen",
        "averaging": "balanced",
        "unit": "graph",
        "protocol": "grouped",
        "split": "60/20/20 per class",
        "aa": 0.85,
        "af": 0.1,
        "bwt": -0.1,
        "legacy_af": 0.1,
        "task_id_grid": {},
        "aa_curve": [0.9, 0.85],
        "matrix": [[0.9, None], [0.8, 0.9]],
        "aa_by_scope": dict.fromkeys(SCOPES, 0.85),
        "af_by_scope": dict.fromkeys(SCOPES, 0.1),
        "task_id_kind": "inferred",
        "task_id_accuracy": 1.0,
        "task_id": "amp/cosine",
        "parameters": {"extra_paper": 300, "extra_full": 330},
        "flags": [],
        "settings": {"train": {}},
        "sha256": f"{dataset}{method}".ljust(20, "0"),
        **changed,
    }
    return msgspec.convert(made, RunRow)


class _Tags(HTMLParser):
    """Collects tags with their attributes, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {k: v or "" for k, v in attrs}))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _page(
    runs: list[RunRow],
    verdicts: list[dict[str, Any]] | None = None,
    *,
    pictures: bool = True,
) -> str:
    rows = over_seeds(runs)
    return page.render(
        rows, figures.draw_all(rows, runs, {}) if pictures else [], verdicts or [], 1
    )


VERDICT = {
    "target": "tables",
    "conditions": ["seeds 1, 2, 3"],
    "rows": [
        {
            "table": "2",
            "row": "TAAM",
            "dataset": "photo",
            "metric": "AA",
            "paper": 96.2,
            "ours": None,
            "difference": -1.03456,
            "verdict": "close",
            "explanation": "other split",
        }
    ],
}


def test_the_page_holds_tables_conditions_figures_and_commands() -> None:
    runs = [_run()]
    rows = over_seeds(runs)
    seen = _Tags(_page(runs))
    assert seen.open == []
    for words in (
        *render.conditions(rows),
        *render.cells(rows[0], 1),
        *render.scope_cells(rows[0], 1),
        render.command(rows[0]),
        "TAAM",
        "accuracy-time-synthetic.svg",
        rows[0].sha256[0][:12],
    ):
        assert words in seen.text, words
    drawn = {
        a["alt"]: base64.b64decode(a["src"].removeprefix("data:image/svg+xml;base64,"))
        for t, a in seen.tags
        if t == "img"
    }
    made = {p.caption: pictures.themed(p) for p in figures.draw_all(rows, runs, {}) if not p.timed}
    assert drawn == made
    assert len(made) == len(figure_data.KINDS) - 1
    assert "Against printed numbers" not in seen.text


def test_the_page_needs_nothing_but_itself() -> None:
    text = _page([_run()], [VERDICT])
    assert text.count("<script>") == text.count("<script") == 1
    assert f"<script>\n{page.script()}</script>" in text
    assert not re.search(r"fetch|XMLHttp|import\(|WebSocket|eval\(|innerHTML", page.script())
    assert "default-src 'none'" in text
    text = text.replace(page.script(), "")
    assert not re.search(r"https?:", text)
    assert not re.search(r"<(link|iframe|object|embed|base|form)\b", text)
    assert not re.search(r"@import|url\(|\son\w+=", text)
    for tag, attributes in _Tags(text).tags:
        if "src" in attributes:
            assert tag == "img" and attributes["src"].startswith("data:image/svg+xml;base64,")
        assert attributes.get("href", "#").startswith("#")
    ids = {a["id"] for _, a in _Tags(text).tags if "id" in a}
    assert {a["href"][1:] for _, a in _Tags(text).tags if "href" in a} == ids


def test_the_page_reads_on_a_phone_and_in_the_dark() -> None:
    text = _page([_run()])
    seen = _Tags(text)
    assert (
        "meta",
        {"name": "viewport", "content": "width=device-width, initial-scale=1"},
    ) in seen.tags
    assert "prefers-color-scheme: dark" in text
    assert (
        sum(t == "table" for t, _ in seen.tags)
        == sum(a.get("class") == "wide" for _, a in seen.tags)
        == 3
    )
    assert text.startswith("<!DOCTYPE html>\n")
    assert text.endswith("</html>\n")


def test_every_name_is_escaped() -> None:
    changes = {
        "flags": [f"class {EVIL}"],
        "split": EVIL,
        "task_id": f"{EVIL}/cosine",
        "profile": EVIL,
        "protocol": "\"'<i>",
    }
    runs = [_run(EVIL, EVIL, "d&<b>", **changes)]
    (row,) = over_seeds(runs)
    verdict = {"target": EVIL, "conditions": [EVIL], "rows": [dict.fromkeys(page.VERDICTS, EVIL)]}
    text = page.render([row], figures.draw_all([row], runs, {}), [verdict], 1)
    assert text.count("<script") == 1 and "<b>" not in text and "<i>" not in text
    seen = _Tags(text)
    assert {t for t, _ in seen.tags} <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "h1",
        "h2",
        "h3",
        "p",
        "nav",
        "a",
        "main",
        "section",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ul",
        "li",
        "figure",
        "img",
        "figcaption",
        "code",
        "pre",
        "span",
        "dl",
        "dt",
        "dd",
        "script",
    }
    assert seen.text.count(EVIL) >= 15
    assert {k for _, a in seen.tags for k in a} <= {
        "lang",
        "charset",
        "name",
        "content",
        "class",
        "role",
        "aria-label",
        "tabindex",
        "scope",
        "id",
        "href",
        "alt",
        "src",
        "http-equiv",
    }


def test_verdicts_are_shown_as_given() -> None:
    seen = _Tags(_page([_run()], [VERDICT], pictures=False))
    for words in (
        "Against printed numbers",
        "tables",
        "seeds 1, 2, 3",
        "96.2",
        "-1.035",
        "close",
        "other split",
    ):
        assert words in seen.text, words


def test_a_table_without_printed_numbers_has_columns_of_its_own() -> None:
    rows = [{"dataset": "photo", "V_intra": 1.25}, {"dataset": "citeseer", "bound": 0.995}]
    made = {"target": "theory", "conditions": [], "rows": rows}
    seen = _Tags(_page([_run()], [made], pictures=False))
    for words in ("V_intra", "1.25", "bound", "0.995"):
        assert words in seen.text, words


def test_a_verdict_file_that_is_broken_or_of_another_shape_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "reproduce"
    folder.mkdir()
    for name, text in (
        ("a.json", "{"),
        ("b.json", "[1]"),
        ("c.json", '{"rows": [1]}'),
        ("d.json", json.dumps(VERDICT)),
        ("d.json.provenance.json", "{}"),
        ("e.json", json.dumps({**VERDICT, "kind": "taamctl.reproduce", "schema_version": 2})),
    ):
        (folder / name).write_text(text)
    found = [collect.verdicts(path) for path in collect.verdict_files(Layout(tmp_path))]
    assert [len(v["rows"]) for v in found] == [0, 0, 0, 1, 0]
    assert "Install a newer taamctl" in found[-1]["conditions"][0]
    assert [v["conditions"][0].split()[0] for v in found[:3]] == ["a.json", "b.json", "c.json"]
    assert "a.json cannot be read" in _page([_run()], found, pictures=False)
    assert collect.verdict_files(Layout(tmp_path / "nowhere")) == []


def _evaluate(root: Path, dataset: str, seconds: float | None) -> None:
    """Write an eval.json as the stage of that name does, and the sidecar of the training behind
    it.
    """
    scope = {
        "aa": 0.85,
        "af": 0.1,
        "bwt": -0.1,
        "aa_curve": [0.9, 0.85],
        "matrix": [[0.9, None], [0.8, 0.9]],
    }
    part = {
        "scopes": {s: {"balanced": scope} for s in SCOPES},
        "legacy_af": {"balanced": 0.1},
        "task_id": {"accuracy": 1.0, "grid": {}},
    }
    made = {
        "dataset": dataset,
        "method": "taam",
        "title": EVIL,
        "profile": "",
        "seed": 1,
        "scope": "all_seen",
        "averaging": "balanced",
        "unit": "graph",
        "protocol": "grouped",
        "split": "60/20/20",
        "task_id_kind": "inferred",
        "routed": ["amp", "cosine"],
        "parameters": {"extra_paper": 300, "extra_full": 330},
        "flags": [],
        "settings": {"train": {}},
        "parts": {"test": part, "val": part},
    }
    layout = Layout(root)
    at = layout.file("eval", dataset, "taam", 1)
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(json.dumps(made))
    if seconds is not None:
        trained = layout.file("train", dataset, "taam", 1)
        trained.parent.mkdir(parents=True, exist_ok=True)
        trained.with_name(f"{trained.name}.provenance.json").write_text(
            json.dumps({"cost": {"wall_s": seconds, "peak_memory_mib": 1.0}})
        )


def _report(root: Path, *, pictures: bool = True) -> Outcome:
    tree = yaml.safe_load(params_file.PACKAGED.read_text(encoding="utf-8"))
    tree["report"]["pictures"] = pictures
    return report.run(
        Context(parameters.Params("params.yaml", tree), Layout(root)), everything=True
    )


def _bytes(root: Path) -> dict[str, bytes]:
    return {
        p.name: p.read_bytes()
        for p in (root / "report").iterdir()
        if p.name.startswith(("report.", *figure_data.KINDS))
        and not p.name.endswith(".provenance.json")
    }


TABLES = {"report.json", "report.md", "report.csv", "report.html"}


def test_the_report_writes_tables_page_and_figures_and_is_reused(tmp_path: Path) -> None:
    _evaluate(tmp_path, "synthetic", 2.5)
    assert not _report(tmp_path).reused
    made = _bytes(tmp_path)
    assert set(made) == TABLES | set(figure_data.files("synthetic"))
    assert b",2.5,0.0," in made["accuracy-time-synthetic.csv"]
    assert made["report.html"].count(b"<script") == 1
    assert _report(tmp_path).reused


def test_other_seconds_draw_the_figure_of_times_again_and_change_nothing_else(
    tmp_path: Path, support: ModuleType
) -> None:
    _evaluate(tmp_path, "synthetic", 2.5)
    _report(tmp_path)
    before = _bytes(tmp_path)
    _evaluate(tmp_path, "synthetic", 40.0)
    assert not _report(tmp_path).reused
    after = _bytes(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {
        *(f"accuracy-time-synthetic.{s}" for s in ("png", "svg", "csv")),
        "report.html",
    }
    pages = [support.without_times(made["report.html"]) for made in (before, after)]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    "sidecar",
    [None, "{", "[]", '{"cost": 3}', '{"cost": {"wall_s": "long", "peak_memory_mib": 1}}'],
)
def test_a_report_does_not_need_times(sidecar: str | None, tmp_path: Path) -> None:
    _evaluate(tmp_path, "synthetic", None if sidecar is None else 1.0)
    if sidecar is not None:
        trained = Layout(tmp_path).file("train", "synthetic", "taam", 1)
        trained.with_name(f"{trained.name}.provenance.json").write_text(sidecar)
    _report(tmp_path)
    assert _bytes(tmp_path)["accuracy-time-synthetic.csv"].splitlines()[1].split(b",")[-4] == b""


def test_figures_of_other_data_sets_go_and_without_pictures_all_do(tmp_path: Path) -> None:
    _evaluate(tmp_path, "photo", 1.0)
    _evaluate(tmp_path, "synthetic", 1.0)
    _report(tmp_path)
    assert set(_bytes(tmp_path)) == TABLES | set(figure_data.files("synthetic")) | set(
        figure_data.files("photo")
    )
    Layout(tmp_path).file("eval", "photo", "taam", 1).unlink()
    (tmp_path / "report" / "own-notes.txt").write_text("kept")
    _report(tmp_path)
    assert set(_bytes(tmp_path)) == TABLES | set(figure_data.files("synthetic"))
    _report(tmp_path, pictures=False)
    assert set(_bytes(tmp_path)) == TABLES
    assert (tmp_path / "report" / "own-notes.txt").is_file()
    assert b"<figure>" not in _bytes(tmp_path)["report.html"]


def test_a_comparison_with_printed_numbers_comes_onto_the_page(tmp_path: Path) -> None:
    _evaluate(tmp_path, "synthetic", 1.0)
    _report(tmp_path, pictures=False)
    (tmp_path / "reproduce").mkdir()
    (tmp_path / "reproduce" / "tables.json").write_text(json.dumps(VERDICT))
    assert not _report(tmp_path, pictures=False).reused
    assert "Against printed numbers" in _bytes(tmp_path)["report.html"].decode()


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaamctlError, match="no evaluation below"):
        _report(tmp_path)
