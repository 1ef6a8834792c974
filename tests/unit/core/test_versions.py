"""Steps from version to version, and the tables of kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

import taamctl
from taamctl.core import json_kinds
from taamctl.core.errors import TaamctlError
from taamctl.core.versions import Versions, unchanged
from taamctl.store import schema, upgrades

LETTERS: Versions[str] = Versions("letters", 3, {1: lambda s: s + "a", 2: lambda s: s + "b"})


def test_a_file_goes_through_every_step_from_its_version_on() -> None:
    assert [LETTERS.upgraded("", version, "x") for version in (1, 2, 3)] == ["ab", "b", ""]


@pytest.mark.parametrize("version", [0, 4, "2", None, 2.0])
def test_another_version_is_refused_with_what_is_read(version: object) -> None:
    said = f"x has version {version} of letters, and this taamctl reads versions 1 to 3"
    with pytest.raises(TaamctlError, match=said) as caught:
        LETTERS.upgraded("", version, "x", "make it again")
    newer = version == 4
    assert caught.value.hint == (
        "install a newer taamctl, or make it again" if newer else ("make it again")
    )
    with pytest.raises(TaamctlError, match="reads version 1$") as caught:
        Versions("letters", 1, {}).upgraded("", 2, "x")
    assert caught.value.hint == "install a newer taamctl"


@pytest.mark.parametrize("kind", schema.KINDS)
def test_every_earlier_version_of_an_artefact_has_a_step(kind: str) -> None:
    of = schema.KINDS[kind].versions
    assert sorted(of.steps) == list(range(1, of.present))
    later = [entry.since for entry in schema.KINDS[kind].entries.values()]
    later += schema.KINDS[kind].later_attributes.values()
    assert max(later) <= of.present


@pytest.mark.parametrize("of", json_kinds.ALL, ids=lambda of: of.versions.kind)
def test_every_json_kind_reads_its_own_stamp_and_refuses_a_newer_one(
    of: json_kinds.JsonKind,
) -> None:
    versions = of.versions
    assert sorted(versions.steps) == list(range(versions.earliest, versions.present))
    assert of.read(of.stamp, "x.json") == of.stamp
    newer = {**of.stamp, of.key: versions.present + 1}
    said = f"x.json has version {versions.present + 1} of {versions.kind}"
    with pytest.raises(TaamctlError, match=said) as caught:
        of.read(newer, "x.json")
    assert caught.value.hint.startswith("install a newer taamctl")
    for other in ([], None, {**of.stamp, "kind": "other"}):
        with pytest.raises(TaamctlError, match=f"x.json is no {versions.kind}"):
            of.read(other, "x.json")


def test_an_evaluation_that_lacks_what_its_version_has_is_refused() -> None:
    with pytest.raises(TaamctlError, match="no taamctl.evaluation that this taamctl can read"):
        json_kinds.EVALUATION.read({"parts": 3}, "eval.json")


def test_the_page_of_formats_lists_all_kinds() -> None:
    page = (Path(taamctl.__file__).parent / "docs/formats.md").read_text(encoding="utf-8")
    assert upgrades.table() in page
    assert "<!-- kinds: made by taamctl.store.upgrades.table -->" in page


def test_a_step_without_change_changes_nothing() -> None:
    said = {"a": 1}
    assert unchanged(said) is said
