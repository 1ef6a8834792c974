"""From a graph of one's own to `dvc repro`, in a folder outside git that holds no code."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml

from taamctl.core.types import Given, NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges

RAN = re.compile(r"^Running stage '(?!keys')([^']+)'", re.MULTILINE)  # those that make artefacts
EVERYTHING = {
    "split@shop",
    "precompute@shop",
    "train@shop-finetune-1",
    "infer@shop-finetune-1",
    "eval@shop-finetune-1",
    "lens@shop-finetune-1",
    "report",
}
INIT = (
    "init",
    "--dataset",
    "shop",
    "--method",
    "finetune",
    "--seed",
    "1",
    "--set",
    "train.epochs=2",
    "--set",
    "train.threads=1",
    "--set",
    "report.pictures=false",
)


def graph(sizes: tuple[int, ...] = (12, 12, 12, 12, 12)) -> NodeGraph:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    n = len(labels)
    adjacency, _ = adjacency_from_edges(
        rng.integers(0, n, 4 * n), rng.integers(0, n, 4 * n), n, "shop"
    )
    return NodeGraph(
        "shop",
        adjacency,
        rng.normal(size=(n, 4)).astype(np.float32),
        labels,
        tuple(f"kind {i}" for i in range(len(sizes))),
    )


@pytest.fixture
def environment(tmp_path: Path, support: ModuleType) -> Any:
    own = tmp_path / "dvc-home"
    folders = {
        f"DVC_{name}": str(own / name.lower())
        for name in ("GLOBAL_CONFIG_DIR", "SYSTEM_CONFIG_DIR", "SITE_CACHE_DIR")
    }
    return support.with_commands(
        tmp_path / "commands",
        DVC_NO_ANALYTICS="1",
        GIT_CEILING_DIRECTORIES=str(tmp_path),
        **folders,
    )


def repro(folder: Path, environment: Any) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "repro"],
        cwd=folder,
        env=environment,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return set(RAN.findall(done.stdout))


def test_a_new_folder_reproduces_and_follows_its_graph(
    tmp_path: Path, support: ModuleType, environment: Any
) -> None:
    pytest.importorskip("dvc")
    folder = tmp_path / "shop"
    _imported.write(folder / "data" / "shop.h5", graph(), {})
    done = support.taamctl(folder, *INIT)
    assert done.code == 0, done.err
    assert "set split.odd_class=merge_into_last" in done.err
    assert (
        yaml.safe_load((folder / "params.yaml").read_text())["split"]["odd_class"]
        == "merge_into_last"
    )
    assert repro(folder, environment) == EVERYTHING
    assert (folder / "outputs/report/report.json").is_file()
    assert repro(folder, environment) == set()
    changed = graph()
    _imported.write(
        folder / "data" / "shop.h5",
        dataclasses.replace(changed, features=changed.features + np.float32(1)),
        {},
    )
    assert {"split@shop", "precompute@shop", "train@shop-finetune-1"} <= repro(folder, environment)


def test_what_cannot_be_set_up_leaves_nothing(tmp_path: Path, support: ModuleType) -> None:
    _imported.write(tmp_path / "data" / "shop.h5", graph((12, 12, 1)), {})
    elsewhere = support.taamctl(tmp_path, *INIT[:1], "other", *INIT[1:])
    assert elsewhere.code == 2
    assert "other/data/shop.h5 is not there, data/shop.h5 is" in elsewhere.err
    stopped = support.taamctl(tmp_path, *INIT, "--set", "split.small_class=refuse")
    assert stopped.code == 2
    assert "error: shop: classes with fewer than 2 nodes: kind 2 (1)" in stopped.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data"]
    (tmp_path / "params.yaml").write_text("mine")
    there = support.taamctl(tmp_path, *INIT)
    assert there.code == 2
    assert "params.yaml: there already" in there.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "params.yaml"]


def test_a_built_in_set_is_set_up_in_a_new_folder(tmp_path: Path, support: ModuleType) -> None:
    done = support.taamctl(
        tmp_path, "init", "trial", "--dataset", "synthetic", "--method", "finetune"
    )
    assert done.code == 0, done.err
    assert done.out.split() == [
        f"trial/{name}"
        for name in (
            "params.yaml",
            "dvc.yaml",
            ".dvcignore",
            ".dvc/config",
            ".dvc/.gitignore",
            ".gitignore",
        )
    ]
    assert "next: cd trial && dvc repro" in done.err
    assert yaml.safe_load((tmp_path / "trial" / "params.yaml").read_text())["run"]["datasets"] == [
        "synthetic"
    ]
    missing = support.taamctl(
        tmp_path, "init", "raw", "--dataset", "photo", "--data-root", str(tmp_path)
    )
    assert missing.code == 0, missing.err
    assert "note: photo was not looked at: photo: no raw data under" in missing.err


def test_a_folder_written_anew_keeps_its_parameters(tmp_path: Path, support: ModuleType) -> None:
    given = ("--set", "split.class_order=time", "--set", "split.min_class_size=3")
    own = dataclasses.replace(graph(), given=Given(time=np.arange(60.0)))
    _imported.write(tmp_path / "data" / "shop.h5", own, {})
    params = tmp_path / "params.yaml"
    assert support.taamctl(tmp_path, *INIT, *given).code == 0
    first = params.read_text(encoding="utf-8")
    split = yaml.safe_load(first)["split"]
    assert (split["class_order"], split["odd_class"]) == ("time", "merge_into_last")
    again = support.taamctl(tmp_path, "init", "--dataset", "shop", "--force")
    assert again.code == 0, again.err
    assert params.read_text(encoding="utf-8") == first
