"""`--max-memory` as a user meets it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_what_cannot_fit_is_refused_before_anything_is_made(
    tmp_path: Path, support: ModuleType, verb: str
) -> None:
    asked = support.call(verb, "--max-memory", "0.05GiB", methods=("taam", "finetune"))
    if verb == "compare":
        asked = (*asked, "--method", "taam", "--method", "finetune")
    refused = support.taamctl(tmp_path, *asked)
    assert refused.code == 2
    errors, hints = support.error_lines(refused)
    assert errors[0].startswith("error: split synthetic needs about ")
    assert "--max-memory allows 51 MiB" in errors[0]
    assert "allow more: --max-memory " in hints[0]
    assert not list(tmp_path.rglob("*.h5"))


def test_a_stage_within_a_limit_gives_the_same_bytes(tmp_path: Path, support: ModuleType) -> None:
    for name, more in (("free", ()), ("bounded", ("--max-memory", "2GiB"))):
        done = support.taamctl(tmp_path, *support.call("split", "--outputs", name, *more))
        assert done.code == 0, done.err
    assert support.artefacts(tmp_path / "free") == support.artefacts(tmp_path / "bounded")
    late = support.taamctl(tmp_path, *support.call("train", "--max-memory", "90M"))
    assert late.code == 2
    assert "train synthetic/finetune needs about" in support.error_lines(late)[0][0]


def test_a_bank_and_a_replay_refuse_a_graph_before_it_is_read(
    tmp_path: Path, support: ModuleType
) -> None:
    assert support.taamctl(tmp_path, "bank", "create", "model", "--method", "analytic").code == 0
    before = sorted(p.name for p in (tmp_path / "model").rglob("*"))
    limit = ("--max-memory", "200M")
    preset = ("--set", "datasets.synthetic.preset=products")
    learned = ("bank", "add-task", "model", "--dataset", "synthetic", *preset)
    refused = support.taamctl(tmp_path, *learned, *limit)
    assert refused.code == 2
    assert "learning synthetic needs about" in support.error_lines(refused)[0][0]
    assert sorted(p.name for p in (tmp_path / "model").rglob("*")) == before
    replay = support.taamctl(
        tmp_path, "stream", "--dataset", "synthetic", "--method", "analytic", *preset, *limit
    )
    assert replay.code == 2
    errors, hints = support.error_lines(replay)
    assert "the replay of synthetic needs about" in errors[0]
    assert "--max-memory" in hints[0]
