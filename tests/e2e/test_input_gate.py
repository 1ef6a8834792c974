"""What a stage reads is what was written, of this place and of this command, or it is refused."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from taamctl.stages import eval as evaluate
from taamctl.stages import infer, precompute, report, split, train

from taamctl.cli import common, verb_inspect
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.importing.import_graph import import_graph
from taamctl.pipeline import walk
from taamctl.runtime import execute, input_gate
from taamctl.runtime.job import Context

METHODS = ("finetune", "taam")
WHICH = ("synthetic", "taam", 1)
SEED_2 = "train/synthetic/taam/seed-2/train.h5"
OTHER_METHOD = "infer/synthetic/finetune/seed-1/infer.h5"


def make(outputs: Path, *changes: str, methods: tuple[str, ...] = METHODS) -> Context:
    settings = RawSettings(
        overrides=["train.epochs=2", "train.threads=1", "report.pictures=false", *changes],
        outputs=outputs,
    )
    grid = Grid(["synthetic"], list(methods), [1, 2])
    return common.make_context(grid, settings, Writing(quiet=True), check_methods=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an outputs folder with everything of two methods and two seeds."""
    outputs = tmp_path_factory.mktemp("gate") / "outputs"
    walk.whole(make(outputs))
    return outputs


@pytest.fixture
def outputs(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "outputs")
    return tmp_path / "outputs"


def damage(path: Path) -> None:
    """Change one byte in the middle, and keep the size and the time, as rot does."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def stages(context: Context) -> dict[str, object]:
    """Return what reads each artefact: path below the outputs -> the stage that does."""
    return {
        "split/synthetic/split.h5": lambda: precompute.run(context, "synthetic"),
        "precompute/synthetic/features.h5": lambda: train.run(context, *WHICH),
        "train/synthetic/taam/seed-1/train.h5": lambda: infer.run(context, *WHICH),
        "infer/synthetic/taam/seed-1/infer.h5": lambda: evaluate.run(context, *WHICH),
        "eval/synthetic/taam/seed-1/eval.json": lambda: report.run(context),
    }


PATHS = tuple(stages(make(Path("nowhere"))))


@pytest.mark.parametrize("path", PATHS)
def test_a_damaged_input_is_refused_and_made_again(outputs: Path, path: str) -> None:
    right = (outputs / path).read_bytes()
    damage(outputs / path)
    context = make(outputs)
    with pytest.raises(TaamctlError, match=r"is not as it was written") as refused:
        stages(context)[path]()  # type: ignore[operator]
    assert "make it again with: taamctl" in refused.value.hint
    walk.whole(make(outputs))  # a run mends it by itself
    assert (outputs / path).read_bytes() == right


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("train/synthetic/taam/seed-1/train.h5", SEED_2),
        ("infer/synthetic/taam/seed-1/infer.h5", OTHER_METHOD),
        ("eval/synthetic/taam/seed-1/eval.json", "eval/synthetic/finetune/seed-1/eval.json"),
    ],
)
@pytest.mark.parametrize("with_sidecar", [False, True])
def test_an_artefact_of_another_place_is_refused(
    outputs: Path, path: str, other: str, *, with_sidecar: bool
) -> None:
    shutil.copy2(outputs / other, outputs / path)
    expected = "is not as it was written"
    if with_sidecar:
        sidecar = f"{path}.provenance.json"
        shutil.copy2(outputs / f"{other}.provenance.json", outputs / sidecar)
        expected = "is of synthetic/.*, not of synthetic/taam/seed-1: it was put here"
    with pytest.raises(TaamctlError, match=expected):
        stages(make(outputs))[path]()  # type: ignore[operator]


def test_a_record_of_another_place_is_made_again_by_a_run(outputs: Path) -> None:
    file = outputs / "train/synthetic/taam/seed-1/train.h5.provenance.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("synthetic/taam/seed-1", "synthetic/taam/seed-2"))
    with pytest.raises(TaamctlError, match="is of synthetic/taam/seed-2"):
        infer.run(make(outputs), *WHICH)
    assert not train.run(make(outputs), *WHICH).reused
    assert infer.run(make(outputs), *WHICH).reused


def test_what_another_command_has_made_in_between_is_no_input(outputs: Path) -> None:
    mine = make(outputs, "split.seed=5")
    split.run(mine, "synthetic")
    split.run(make(outputs, "split.seed=6"), "synthetic")
    with pytest.raises(TaamctlError, match=r"split\.h5 was changed by another command") as refused:
        precompute.run(mine, "synthetic")
    assert "--outputs" in refused.value.hint
    precompute.run(make(outputs, "split.seed=6"), "synthetic")  # the other one goes on


def test_what_is_changed_while_it_is_read_leaves_no_result(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = make(outputs, "precompute.hops=1")
    computed = execute._computed

    def interrupted(job: object, key: object, compute: object) -> object:
        made = computed(job, key, compute)  # type: ignore[arg-type]
        monkeypatch.setattr(execute, "_computed", computed)
        split.run(make(outputs, "split.seed=6"), "synthetic")
        return made

    monkeypatch.setattr(execute, "_computed", interrupted)
    with pytest.raises(TaamctlError, match="was changed by another command while precompute read"):
        precompute.run(mine, "synthetic")
    # no record says that the features belong to this split: the next run makes them anew
    assert not precompute.run(
        make(outputs, "split.seed=6", "precompute.hops=1"), "synthetic"
    ).reused


def test_a_result_is_not_printed_after_another_command_has_replaced_it(outputs: Path) -> None:
    mine = make(outputs)
    walk.whole(mine)
    file = mine.layout.file("eval", *WHICH)
    input_gate.require_own(mine, file)
    found = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**found, "seed": 2}), encoding="utf-8")
    with pytest.raises(TaamctlError, match="was changed by another command while this one ran"):
        input_gate.require_own(mine, file)


def test_an_artefact_without_a_record_is_taken(outputs: Path) -> None:
    for sidecar in outputs.rglob("*.provenance.json"):
        sidecar.unlink()
    context = replace(make(outputs), force=True)
    assert not infer.run(context, *WHICH).reused


def test_inspect_opens_no_file_that_is_not_as_it_was_written(outputs: Path) -> None:
    file = outputs / "split/synthetic/split.h5"
    content = bytearray(file.read_bytes())
    content[1024:1536] = bytes(512)  # a hole: readers of HDF5 may go round in it for ever
    file.write_bytes(bytes(content))
    with pytest.raises(TaamctlError, match="is not as it was written") as refused:
        verb_inspect.command(file, rows=2, check=True, as_json=False)
    assert "remove" in refused.value.hint


def test_an_import_sweeps_what_a_killed_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    left = tmp_path / "data" / ".shop.h5.123-abc.tmp"
    left.write_bytes(b"half")
    lines = [f"n{i},{'ab'[i % 2]},{i * i % 7}" for i in range(12)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,label,size_cm", *lines]) + "\n")
    ends = [f"n{i},n{(i + 2) % 12}" for i in range(12)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *ends]) + "\n")
    sources = [tmp_path / "nodes.csv", tmp_path / "edges.csv"]
    import_graph("shop", sources, tmp_path / "data", options={})
    assert (tmp_path / "data" / "shop.h5").is_file()
    assert not left.exists()


def test_code_that_is_edited_while_a_command_runs_makes_no_result(
    outputs: Path, tmp_path: Path
) -> None:
    made = make(outputs)
    mine = replace(made, began=made.began - 100)
    edited = tmp_path / "module.py"
    edited.write_text("x = 1\n", encoding="utf-8")
    os.utime(edited, (mine.began - 60, mine.began - 60))
    input_gate.require_same_code(mine, [edited])
    os.utime(edited, (mine.began + 1, mine.began + 1))
    with pytest.raises(TaamctlError, match=r"module\.py was edited while this command ran"):
        input_gate.require_same_code(mine, [edited])
    input_gate.require_same_code(mine, [edited], lambda: True)  # a comment, say
    os.utime(edited, (mine.began + 9e5, mine.began + 9e5))  # a clock that is wrong stops nobody
    input_gate.require_same_code(mine, [edited])
