"""Numbers that cannot be trusted are marked wherever they are shown: failed routing, tasks of
one class, a lens of older models.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import numpy as np
import pytest
import yaml

RUN = (
    "run",
    "--dataset",
    "own",
    "--method",
    "linear_probe",
    "--seed",
    "1",
    "--set",
    "report.pictures=false",
    "--quiet",
)
AS_PUBLISHED = ("--set", "infer.router=prototype")


def write(
    folder: Path, means: np.ndarray, seed: int = 0, per_class: int = 60, **more: np.ndarray
) -> None:
    """Write `own.npz`: classes around given means [C, F] or [C, per_class, F], edges inside a
    class and between classes at random.
    """
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(means)), per_class)
    centres = means[y] if means.ndim == 2 else means.reshape(len(y), -1)
    x = (centres + 0.05 * rng.standard_normal(centres.shape)).astype(np.float32)
    same = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), (2 * per_class, 2)) for c in range(len(means))]
    )
    np.savez(
        folder / "own.npz",
        x=x,
        y=y,
        edge_index=np.concatenate([same, rng.choice(len(y), (len(y), 2))]).T,
        **more,
    )


def of_one_direction(folder: Path) -> None:
    """Two tasks in one direction, one three times as long and its training part a little tilted:
    cosine errs, Euclid does not.
    """
    rng = np.random.default_rng(3)
    base = rng.random((2, 24)) + 0.5
    middle, apart, tilt = base.mean(0), (base[0] - base[1]) / 2, 0.2 * rng.standard_normal(24)
    means = np.stack([middle + apart, middle - apart, 3 * middle + apart, 3 * middle - apart])[
        :, None
    ].repeat(60, axis=1)
    means[2:, :30] += tilt
    part = np.tile(np.repeat([0, 1, 2], [30, 15, 15]), 4)
    write(folder, means, train_mask=part == 0, val_mask=part == 1, test_mask=part == 2)


def imported(folder: Path, support: ModuleType) -> Path:
    done = support.taamctl(folder, "data", "import", "own.npz", "--name", "own")
    assert done.code == 0, done.err
    return folder


def test_routing_that_fails_on_validation_is_told_by_run_report_doctor_and_init(
    tmp_path: Path, support: ModuleType
) -> None:
    of_one_direction(tmp_path)
    imported(tmp_path, support)
    said = "task IDs by amp/cosine are right on 50 % of the validation graphs"
    run = support.taamctl(tmp_path, *RUN, *AS_PUBLISHED)
    assert run.code == 0, run.err
    assert f"warning: own (linear_probe): {said}" in " ".join(run.out.split())
    (row,) = json.loads(support.taamctl(tmp_path, *RUN, *AS_PUBLISHED, "--json").out)
    assert len(row["doubts"]) == 1 and "amp/euclid" in row["doubts"][0]
    for name in ("report.md", "report.html"):
        assert said in (tmp_path / "outputs" / "report" / name).read_text()
    one = ("--dataset", "own", "--method", "linear_probe", "--seed", "1")
    infer = support.taamctl(tmp_path, "infer", *one, *AS_PUBLISHED)
    assert f"warning: own (linear_probe): {said}" in infer.err
    assert "--set infer.profile=amp --set infer.metric=euclid" in infer.err

    doctor = support.taamctl(tmp_path, "data", "doctor", "own", *AS_PUBLISHED)
    assert (
        doctor.code == 0
        and f"warning: {said}" in doctor.out
        and "set infer.profile: amp and infer.metric: euclid" in doctor.out
    )
    facts = json.loads(support.taamctl(tmp_path, "data", "doctor", "own", "--json").out)["routing"]
    with h5py.File(tmp_path / "outputs/infer/own/linear_probe/seed-1/infer.h5") as made:
        assert list(facts["grid"].values()) == made["val/grid"][:].tolist(), (
            "the doctor routes as infer does"
        )

    start = ("init", "--dataset", "own", "--method", "linear_probe", "--seed", "1")
    made = support.taamctl(tmp_path, *start, *AS_PUBLISHED)
    assert made.code == 0, made.err
    assert "own: set infer.metric=euclid" in made.err
    assert yaml.safe_load((tmp_path / "params.yaml").read_text())["infer"]["metric"] == "euclid"
    (mended,) = json.loads(support.taamctl(tmp_path, *RUN, "--outputs", "mended", "--json").out)
    assert (mended["task_id_accuracy"], mended["doubts"]) == (1.0, [])
    assert mended["aa"] > row["aa"]
    free = ("router=auto", "profile=as_published", "metric=as_published")
    sets = [word for setting in free for word in ("--set", f"infer.{setting}")]
    done = support.taamctl(tmp_path, *RUN, *sets, "--outputs", "auto", "--json")
    (auto,) = json.loads(done.out)
    assert (auto["task_id"], auto["doubts"], auto["aa"]) == ("amp/euclid", [], mended["aa"])


def test_prototypes_that_lie_close_are_told_with_the_margin(
    tmp_path: Path, support: ModuleType
) -> None:
    """Many weak common features, and a distance between tasks that is about as small as that
    between val and train.
    """
    rng = np.random.default_rng(5)
    common = 5 * rng.random(24)
    write(
        tmp_path,
        np.stack([common + 0.012 * rng.standard_normal(24) for _ in range(4)]),
        per_class=40,
    )
    imported(tmp_path, support)
    rows = json.loads(support.taamctl(tmp_path, *RUN, *AS_PUBLISHED, "--json").out)
    assert rows[0]["doubts"], "either wrong on validation, or too close"
    doctor = support.taamctl(tmp_path, "data", "doctor", "own", *AS_PUBLISHED)
    assert f"warning: {rows[0]['doubts'][0]}" in doctor.out, (
        "the same words before and after training"
    )


def test_right_routing_is_not_doubted(tmp_path: Path, support: ModuleType) -> None:
    write(tmp_path, np.random.default_rng(1).random((4, 24)))
    imported(tmp_path, support)
    run = support.taamctl(tmp_path, *RUN)
    assert "warning" not in run.out
    facts = json.loads(support.taamctl(tmp_path, "data", "doctor", "own", "--json").out)["routing"]
    assert facts["accuracy"] == 1 and facts["nearness"] > 0.2


def test_no_advice_makes_tasks_of_one_class_and_their_aa_is_marked(
    tmp_path: Path, support: ModuleType
) -> None:
    write(tmp_path, np.random.default_rng(2).random((2, 24)))
    imported(tmp_path, support)
    doctor = json.loads(support.taamctl(tmp_path, "data", "doctor", "own", "--json").out)
    assert not [
        c
        for f in doctor["findings"]
        for c in f["changes"]
        if c.startswith("split.classes_per_task")
    ]
    assert any("AA nothing but task-ID accuracy" in f["mend"] for f in doctor["findings"])
    support.taamctl(tmp_path, "init", "--dataset", "own", "--method", "linear_probe", "--seed", "1")
    assert yaml.safe_load((tmp_path / "params.yaml").read_text())["split"]["classes_per_task"] == 2

    without_mixed = ("--set", "precompute.store_x=false")
    alone = support.taamctl(tmp_path, *RUN, "--set", "split.classes_per_task=1", *without_mixed)
    assert (
        "100.0*" in alone.out
        and "*: not a meaningful AA: own has test graphs of one class (task 1, 2)"
        in " ".join(alone.out.split())
    )
    assert "100.0*" in (tmp_path / "outputs/report/report.md").read_text()
    (row,) = json.loads(
        support.taamctl(tmp_path, *RUN, "--set", "split.classes_per_task=1", "--json").out
    )
    assert row["one_class_tasks"] == [0, 1]
    warned = support.taamctl(tmp_path, "data", "doctor", "own", "--set", "split.classes_per_task=1")
    assert (
        "2 test graphs hold one class only (task 1, 2): AA is nothing but task-ID accuracy there"
        in warned.out
    )


def test_the_mixed_aa_takes_the_place_of_one_without_a_meaning(
    tmp_path: Path, support: ModuleType
) -> None:
    write(tmp_path, np.random.default_rng(2).random((2, 24)))
    imported(tmp_path, support)
    run = (*RUN, "--set", "split.classes_per_task=1", "--set", "lens.router.width=12")
    first = support.taamctl(tmp_path, *run, "--json")
    (row,) = json.loads(first.out)
    assert (row["aa_defined"], row["aa"]) == (False, 1)
    assert support.taamctl(tmp_path, "eval", "--lens", *run[1:]).code == 0
    report = support.taamctl(tmp_path, "report", *run[1:])
    lens = json.loads(
        (tmp_path / "outputs/lens/own/linear_probe/seed-1/lens.json").read_text(encoding="utf-8")
    )
    mixed = next(
        cell
        for cell in lens["cells"]
        if (cell["protocol"], cell["part"], cell["unit"]) == ("mixed", "test", "node")
    )
    assert f"{100 * mixed['aa']:.1f}†" in report.out
    assert "0.0*" in report.out, "AF has no mixed one"
    assert "; 50.0 with a graph per task." in report.out, "among all classes seen"
    assert "100.0* task_only" in report.out


def test_a_leftover_class_alone_is_marked_too(tmp_path: Path, support: ModuleType) -> None:
    write(tmp_path, np.random.default_rng(2).random((3, 24)))
    imported(tmp_path, support)
    (row,) = json.loads(
        support.taamctl(tmp_path, *RUN, "--set", "split.odd_class=singleton_task", "--json").out
    )
    assert row["one_class_tasks"] == [1]
    joined = support.taamctl(tmp_path, "data", "doctor", "own")
    assert "left over" not in joined.out and "split.odd_class is merge_into_last" in joined.err
    dropped = support.taamctl(tmp_path, "data", "doctor", "own", "--set", "split.odd_class=drop")
    assert (
        "set split.odd_class: merge_into_last" in dropped.out
        and "or singleton_task" not in dropped.out
    )


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Path:
    folder = tmp_path_factory.mktemp("looked")
    for arguments in (call("run"), call("eval", "--lens")):
        assert support.taamctl(folder, *arguments).code == 0
    return folder


def call(verb: str, *more: str, lr: float = 0.005) -> tuple[str, ...]:
    return (
        verb,
        "--dataset",
        "synthetic",
        "--method",
        "taam",
        "--seed",
        "1",
        "--set",
        "train.epochs=2",
        "--set",
        f"train.lr={lr}",
        "--set",
        "report.pictures=false",
        "--set",
        "lens.batches=[10]",
        "--set",
        "lens.router.width=32",
        *more,
    )


def sections(folder: Path) -> dict[str, Any]:
    report = folder / "outputs" / "report"
    made = json.loads((report / "report.json").read_text())
    return {
        "json": bool(made["lens"]),
        "md": "## Lens" in (report / "report.md").read_text(),
        "csv": (report / "lens.csv").is_file(),
        "html": 'id="lens"' in (report / "report.html").read_text(),
        "left out": made["lens_left_out"],
    }


def test_the_lens_of_an_older_model_is_left_out_until_it_is_renewed(
    looked: Path, support: ModuleType
) -> None:
    support.taamctl(looked, *call("report"))
    assert sections(looked) == {"json": True, "md": True, "csv": True, "html": True, "left out": []}
    again = support.taamctl(looked, *call("run", lr=0.05))
    renew = "taamctl eval --lens --dataset synthetic --method taam --seed 1"
    assert f"is left out; renew it with: {renew}" in again.err
    found = sections(looked)
    assert (found["json"], found["md"], found["html"], len(found["left out"])) == (
        False,
        False,
        False,
        1,
    )
    for name in ("report.md", "report.html"):
        assert renew in (looked / "outputs" / "report" / name).read_text()
    assert support.taamctl(looked, *call("eval", "--lens", lr=0.05)).code == 0
    back = support.taamctl(looked, *call("report", lr=0.05))
    assert "left out" not in back.err and sections(looked)["json"]


INFER = "infer/synthetic/taam/seed-1/infer.h5.provenance.json"
TRAIN = "train/synthetic/taam/seed-1/train.h5"


@pytest.mark.parametrize(
    ("lost", "shown"),
    [
        (["lens/synthetic/taam/seed-1/lens.json.provenance.json"], False),
        ([INFER], True),  # the model itself is there
        ([TRAIN], True),  # the record of what predicted stands in for it
        ([TRAIN, INFER], False),
    ],
)
def test_a_lens_is_shown_where_its_model_can_be_told(
    lost: list[str], shown: bool, looked: Path, tmp_path: Path, support: ModuleType
) -> None:
    shutil.copytree(looked / "outputs", tmp_path / "outputs")
    for name in lost:
        (tmp_path / "outputs" / name).unlink()
    done = support.taamctl(tmp_path, *call("report", lr=0.05))
    assert done.code == 0 and sections(tmp_path)["json"] == shown
    assert ("is not known to be of the present model" in done.err) != shown


def test_a_model_put_back_beside_newer_records_is_not_taken_for_the_newer(
    looked: Path, tmp_path: Path, support: ModuleType
) -> None:
    shutil.copytree(looked / "outputs", tmp_path / "outputs")
    assert support.taamctl(tmp_path, *call("run", lr=0.01)).code == 0
    older = (tmp_path / "outputs" / TRAIN).read_bytes()
    assert support.taamctl(tmp_path, *call("run", lr=0.05)).code == 0
    assert support.taamctl(tmp_path, *call("eval", "--lens", lr=0.05)).code == 0
    (tmp_path / "outputs" / TRAIN).write_bytes(older)
    done = support.taamctl(tmp_path, *call("report", lr=0.05))
    assert "is not known to be of the present model" in done.err and not sections(tmp_path)["json"]


def test_init_writes_both_settings_of_a_routing_or_neither(
    tmp_path: Path, support: ModuleType
) -> None:
    of_one_direction(tmp_path)
    imported(tmp_path, support)
    done = support.taamctl(
        tmp_path,
        *("init", "--dataset", "own", "--method", "taam", "--set", "infer.metric=cosine"),
        *AS_PUBLISHED,
    )
    assert done.code == 0, done.err
    infer = yaml.safe_load((tmp_path / "params.yaml").read_text())["infer"]
    assert (infer["profile"], infer["metric"]) == ("as_published", "cosine")
    assert "set infer.profile: amp and infer.metric: euclid" in done.err


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_dvc_keeps_for_itself_stays_out_of_git(tmp_path: Path, support: ModuleType) -> None:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    assert support.taamctl(tmp_path, "init", "--dataset", "synthetic", "--method", "taam").code == 0
    (tmp_path / ".dvc" / "config.local").write_text(
        "['remote \"r\"']\n    secret_access_key = made-up\n"
    )
    for folder in ("tmp", "cache"):
        (tmp_path / ".dvc" / folder).mkdir()
        (tmp_path / ".dvc" / folder / "file").write_text("x")
    git("add", "-A")
    staged = git("ls-files").split()
    assert ".dvc/config" in staged and ".dvc/.gitignore" in staged
    assert not [
        name for name in staged if name.startswith((".dvc/config.local", ".dvc/tmp", ".dvc/cache"))
    ]
