"""Banks of another version: parameters that their record lacks or has too many, and earlier and
newer formats of the manifest.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from taamctl.bank import add, answers, change, config, store, transfer
from taamctl.bank import manifest as manifests
from taamctl.bank.bank import load_bank
from taamctl.bank.graph_source import Source
from taamctl.bank.upgrade import upgrade
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.spec import param
from taamctl.core.types import NodeGraph
from taamctl.params import recorded_params
from taamctl.params.train_params import TrainParams

MakeGraph = Callable[..., NodeGraph]
Edit = Callable[[dict[str, Plain]], object]


@dataclass(frozen=True)
class LaterParams(TrainParams):
    """The training parameters of a later taamctl: one more."""

    momentum: float = param("a parameter that came later", ge=0)


@dataclass(frozen=True)
class DefaultedParams(TrainParams):
    """The same with a default."""

    momentum: float = field(default=0.0, metadata={"doc": "a parameter that came later"})


def rewrite(bank: Path, edit: Edit, form: int = manifests.FORMAT) -> None:
    """Write every generation anew, as another taamctl would have written it."""
    previous = ""
    for generation in store.history(bank):
        path = manifests.copy_of(bank, generation)
        record = json.loads(path.read_text(encoding="utf-8"))
        edit(record["config"])
        record |= {"previous": previous, "format": form}
        if form == 1:
            record.pop("kind", None)
        record["digest"] = previous = manifests.digest_of(record)
        path.write_text(json.dumps(record), encoding="utf-8")
    manifests.adopt(bank, generation)


def answered(bank: Path, graph: NodeGraph) -> str:
    text = io.StringIO()
    answers.write_json(load_bank(bank).predict(graph), text)
    return text.getvalue()


def recorded(bank: Path) -> dict[str, Plain]:
    made: dict[str, Plain] = json.loads((bank / "manifest.json").read_text())["config"]
    return made


def lack(values: dict[str, Plain]) -> None:
    del values["own"]["precision"]  # a parameter that came later


def have_more(values: dict[str, Plain]) -> None:
    values["train"]["momentum"] = 0.9
    values["bank"]["router"]["colour"] = "red"


@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize("edit", [lack, have_more])
def test_a_bank_with_other_parameters_verifies_and_answers_the_same(
    bank: Path, graph: MakeGraph, edit: Edit, form: int
) -> None:
    asked = graph(("a", "d"), seed=5)
    before = answered(bank, asked)
    rewrite(bank, edit, form)
    found = verify(bank)
    assert all(f.good for f in found), [f for f in found if not f.good]
    assert sum("equal in every bit" in f.said for f in found) == 3
    assert answered(bank, asked) == before
    assert store.current(bank).format == form


def test_parameters_too_many_are_told_and_survive_every_change(
    bank: Path, graph: MakeGraph, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(bank, have_more)
    with caplog.at_level(logging.WARNING, "taamctl"):
        load_bank(bank)
    assert [line.partition(",")[0] for line in caplog.messages] == [
        f"{bank / 'manifest.json'} records train.momentum = 0.9",
        f"{bank / 'manifest.json'} records bank.router.colour = red",
    ]
    add.add(bank, Source(graph(("e", "f"), seed=3)))
    change.remove(bank, 1)
    change.rollback(bank)
    upgrade(bank)
    transfer.export(bank, tmp_path / "bank.tar")
    copy = tmp_path / "copy"
    transfer.restore(tmp_path / "bank.tar", copy)
    for folder in (bank, copy):
        assert recorded(folder)["train"]["momentum"] == 0.9
        assert recorded(folder)["bank"]["router"]["colour"] == "red"
        assert all(f.good for f in verify(folder))


@pytest.mark.parametrize("later", [LaterParams, DefaultedParams])
def test_code_with_one_more_parameter_reads_banks_of_code_without(
    bank: Path, graph: MakeGraph, later: type[TrainParams], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = graph(("a", "d"), seed=5)
    before = answered(bank, asked)
    monkeypatch.setattr(config, "TrainParams", later)
    if later is LaterParams:
        monkeypatch.setitem(recorded_params.BEFORE, recorded_params.place(later), {"momentum": 0.0})
    assert answered(bank, asked) == before
    assert all(f.good for f in verify(bank))
    assert load_bank(bank).config.train.momentum == 0.0  # type: ignore[attr-defined]
    now, changes = upgrade(bank)
    assert changes == ["parameter train.momentum recorded: 0.0"]
    assert now.generation == 3
    assert upgrade(bank) == (now, [])
    assert answered(bank, asked) == before
    assert all(f.good for f in verify(bank))


def test_code_with_one_fewer_reads_banks_of_code_with_it(
    tmp_path: Path, graph: MakeGraph, config: Callable[..., config.Config]
) -> None:
    from dataclasses import asdict, replace

    plain = config()
    later = replace(plain, train=LaterParams(**asdict(plain.train), momentum=0.5))
    for name, made in (("plain", plain), ("later", later)):
        store.create(tmp_path / name, made)
        add.add(tmp_path / name, Source(graph(("a", "b"), seed=1)))
    asked = graph(("a", "b"), seed=5)
    assert answered(tmp_path / "later", asked) == answered(tmp_path / "plain", asked)
    assert all(f.good for f in verify(tmp_path / "later"))
    assert recorded(tmp_path / "later")["train"]["momentum"] == 0.5


def test_a_parameter_of_which_nothing_is_known_is_refused_by_name(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "TrainParams", LaterParams)
    said = "manifest.json records parameters that cannot be read:\n  train.momentum: missing"
    for refused in (load_bank, upgrade, verify):
        with pytest.raises(TaamctlError, match=said) as caught:
            refused(bank)
        assert "use the taamctl that made the bank" in caught.value.hint
    assert store.current(bank).generation == 2


def test_what_is_recorded_is_under_the_checksum_known_or_not(bank: Path) -> None:
    rewrite(bank, have_more)
    path = bank / "manifest.json"
    text = path.read_text()
    for old, new in (("0.9", "0.8"), ('"format": 2', '"format": 1')):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(TaamctlError, match="does not match its own checksum"):
            load_bank(bank)


def test_an_older_bank_grows_on_and_keeps_its_generations(bank: Path, graph: MakeGraph) -> None:
    rewrite(bank, lack, form=1)
    copies = {path: path.read_bytes() for path in (bank / "manifests").iterdir()}
    now, changes = upgrade(bank)
    assert changes == ["manifest: format 1 to 2", "parameter own.precision recorded: float32"]
    assert (now.format, now.action) == (2, "upgraded to format 2")
    assert {path: path.read_bytes() for path in copies} == copies
    add.add(bank, Source(graph(("e", "f"), seed=3)))
    assert change.rollback(bank, to=2).format == 2
    assert all(f.good for f in verify(bank))


def test_an_older_generation_that_follows_is_taken_as_it_is(bank: Path) -> None:
    rewrite(bank, lack, form=1)
    (bank / "manifest.json").write_bytes((bank / "manifests" / "0001.json").read_bytes())
    told: list[str] = []
    with store.changing(bank, wait=False, tell=told.append) as now:
        assert (now.generation, now.format) == (2, 1)
    assert (bank / "manifest.json").read_bytes() == (bank / "manifests/0002.json").read_bytes()
    assert told == ["generation 2 is whole and follows: it is the bank's now"]
    assert all(f.good for f in verify(bank))


def test_a_bank_of_a_newer_format_is_refused_by_its_number(bank: Path) -> None:
    rewrite_to = json.loads((bank / "manifest.json").read_text()) | {"format": 3}
    (bank / "manifest.json").write_text(json.dumps(rewrite_to))
    with pytest.raises(TaamctlError, match="has version 3 of taamctl.bank, and this") as caught:
        load_bank(bank)
    assert caught.value.hint == "install a newer taamctl"


def test_an_upgrade_that_is_killed_leaves_the_bank_as_it_was_or_is_finished_later(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(bank, lack, form=1)
    before = (bank / "manifest.json").read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(manifests, "adopt", killed)  # between the copy and manifest.json
        with pytest.raises(KeyboardInterrupt):
            upgrade(bank)
    assert (bank / "manifest.json").read_bytes() == before
    now, changes = upgrade(bank)
    assert (now.generation, now.format, changes) == (3, 2, [])
    assert all(f.good for f in verify(bank))
