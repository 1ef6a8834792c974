"""`taamctl init` keeps what a folder was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from taamctl.cli.given_params import given
from taamctl.core.errors import TaamctlError
from taamctl.params.params_file import PACKAGED

SAID = ("split.class_order=time", " train.lr =0.01")


def edited(folder: Path, old: str, new: str) -> None:
    text = PACKAGED.read_text(encoding="utf-8")
    assert text.count(old) == 1
    (folder / "params.yaml").write_text(text.replace(old, new), encoding="utf-8")


def test_what_set_names_is_chosen_and_of_a_section_every_key(tmp_path: Path) -> None:
    found = given(tmp_path, SAID, again=False)
    assert (found.base, found.chosen) == (PACKAGED, {"split.class_order", "train.lr"})
    whole = given(tmp_path, ["split={}"], again=False).chosen
    assert {"split", "split.odd_class", "split.class_order"} <= whole


def test_what_its_own_file_says_is_kept_where_it_is_written_anew(tmp_path: Path) -> None:
    edited(tmp_path, "class_order: natural", "class_order: time")
    again = given(tmp_path, SAID[1:], again=True)
    assert again.base == tmp_path / "params.yaml"
    assert again.chosen == {"split.class_order", "train.lr"}
    assert given(tmp_path, SAID[1:], again=False).base == PACKAGED


def test_a_file_that_is_none_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("mine", encoding="utf-8")
    with pytest.raises(TaamctlError, match="what is to be kept cannot be read") as refused:
        given(tmp_path, (), again=True)
    assert "remove it to begin anew" in refused.value.hint
