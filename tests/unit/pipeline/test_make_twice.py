"""`taamctl verify --twice`: a stage made once more is equal, or it is said how it differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer

from taamctl.cli import common, verb_verify
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.pipeline import make_twice, walk
from taamctl.runtime.job import Context
from taamctl.store import artefact_writer
from taamctl.store.artefact_writer import Writer

GRID = Grid(["synthetic"], ["linear_probe", "finetune"], [1])
SET = ("train.epochs=2", "train.threads=1", "train.device=cpu")


def make(outputs: Path, *changes: str) -> Context:
    settings = RawSettings(overrides=[*SET, *changes], outputs=outputs)
    return common.make_context(GRID, settings, Writing(quiet=True), check_methods=True)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("twice") / "outputs"
    walk.to_eval(make(folder))
    return folder


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
        if p.is_file() and not p.name.endswith((".lock", ".stamp"))
    }


@pytest.mark.parametrize("stage", make_twice.TWICE)
def test_every_stage_is_made_to_the_same_bytes_and_nothing_is_touched(
    stage: str, outputs: Path
) -> None:
    before = files(outputs)
    found = make_twice.twins(make(outputs), stage)
    assert [twin.equal for twin in found] == [True] * len(found)
    wanted = {path for path in before if path.startswith(f"{stage}/") and "provenance" not in path}
    assert {str(Path(twin.path).relative_to(outputs)) for twin in found} == wanted
    assert files(outputs) == before
    assert not list(outputs.glob(".twice-*"))


def test_what_differs_is_named_with_how_much(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put = Writer.put

    def other(self: Writer, path: str, values: object, dims: object = None) -> None:
        if path == "loss" and np.ndim(values) == 2:  # of train.h5, not of a checkpoint
            values = np.array(values)
            values[0, 1] += np.float32(0.25)  # type: ignore[index]
        put(self, path, values, dims)  # type: ignore[arg-type]

    monkeypatch.setattr(artefact_writer.Writer, "put", other)
    before = files(outputs)
    settings = RawSettings(overrides=list(SET), outputs=outputs)
    with pytest.raises(typer.Exit) as ended:
        verb_verify.command(paths=None, twice="train", grid=GRID, settings=settings, as_json=False)
    assert ended.value.exit_code == 1
    said = capsys.readouterr()
    assert "differ, by at most 2.5e-01 of" in said.out
    assert "loss: 1 of 10 values" in said.out
    assert "1 of 2 files differ" in said.err  # linear_probe has no losses: NaN stays NaN
    assert files(outputs) == before


def test_what_would_not_be_made_now_is_refused(outputs: Path, tmp_path: Path) -> None:
    with pytest.raises(TaamctlError, match=r"not what would be made now: train.epochs 2 -> 3"):
        make_twice.twins(make(outputs, "train.epochs=3"), "train")
    with pytest.raises(TaamctlError, match=r"train\.h5 is not there"):
        make_twice.twins(make(tmp_path / "none"), "train")
    for stage in ("report", "lens", "nothing"):
        with pytest.raises(TaamctlError, match=f"--twice {stage}") as refused:
            make_twice.twins(make(outputs), stage)
        assert "split, precompute, train, infer, eval" in refused.value.hint


def test_arrays_are_compared_by_their_bits() -> None:
    one = np.array([1.0, np.nan, -0.0], np.float32)
    assert make_twice._by_how_much(one, one.copy()) == ""
    assert "0 of 3 values differ" in make_twice._by_how_much(one, np.abs(one))
    assert make_twice._by_how_much(one, one[:2]) == "float32 [3] and float32 [2]"
    assert make_twice._by_how_much(np.arange(3), np.array([0, 1, 7])) == "1 of 3 values differ"
    names = np.array(["a", "b"])
    assert make_twice._by_how_much(names, np.array(["a", "c"])) == "1 of 2 values differ"
