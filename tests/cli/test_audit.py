"""`taamctl audit`: green where nothing leaks; every planted leak is caught and named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from taamctl.runtime import artefacts

CALL = ("audit", "--dataset", "synthetic", "--seed", "1", "--set", "train.epochs=2", "--quiet", "--json")
PEEK = """
from pathlib import Path
import h5py
import numpy as np
from taamctl.methods.linear_probe import Method as Probe, Params

DEFAULTS = {"c": 1.0, "iterations": 20}

class Method(Probe):
    \"\"\"A probe that looks at its test nodes. Source: a test.\"\"\"
    def state(self):
        kept = dict(super().state())
        with h5py.File(next(Path().rglob("features.h5")), "r", locking=False) as file:
            kept["weight"] = kept["weight"] + np.float32(file["tasks/00/test/H"][()].mean())
        return kept
"""


@pytest.fixture(scope="module")
def made(support: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a split and features of the small synthetic graph."""
    folder = tmp_path_factory.mktemp("audited")
    for stage in ("split", "precompute"):
        assert support.taamctl(folder, stage, "--dataset", "synthetic", "--quiet").code == 0
    return folder


def audited(support: ModuleType, folder: Path, *more: str, code: int, site: Path | None = None) -> list[dict[str, Any]]:
    changes = {"PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))} if site else {}
    done = support.taamctl(folder, *CALL, *more, env=support.environment(**changes))
    assert done.code == code, done.err + done.out
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def failures(found: list[dict[str, Any]]) -> list[str]:
    return [f"{c['check']} {c['subject']}: {c['detail']}" for c in found if c["verdict"] == "failed"]


def rewrite(path: Path, kind: str, change: Callable[[str, np.ndarray], np.ndarray]) -> None:
    """Write an artefact again with some arrays changed: whole, with right checksums, as one of a faulty stage would be."""
    with artefacts.Artefact(path, kind) as old:
        arrays = {name: change(name, old.read(name)) for name in old.paths()}
        attributes, params = old.attributes(), old.params

    def fill(writer: artefacts.Writer) -> None:
        for name, value in attributes.items():
            if name not in ("kind", "schema_version", "params", "complete"):
                writer.attribute(name, value)
        for name, array in arrays.items():
            writer.put(name, array)

    artefacts.create(path, kind, params, fill)


def test_honest_methods_pass_every_check(support: ModuleType, made: Path) -> None:
    found = audited(support, made, "--method", "linear_probe", "--method", "ssm", code=0)
    assert not failures(found)
    said = {(c["check"], c["subject"]) for c in found}
    assert {("train", f"synthetic/{m}/seed-1: {kind}") for m in ("linear_probe", "ssm") for kind in ("features", "edges", "labels")} <= said
    changed = [c["detail"] for c in found if c["check"] == "precompute" and ":" in c["subject"]]
    assert len(changed) == 3 and all("arrays of val and test differ" in d for d in changed)  # the disturbance itself arrived


def test_a_method_that_reads_test_features_is_caught(support: ModuleType, made: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "peek-0.1.dist-info").mkdir(parents=True)
    (site / "peek-0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: peek\nVersion: 0.1\n")
    (site / "peek-0.1.dist-info" / "entry_points.txt").write_text("[taamctl.methods]\npeek = peek_method\n")
    (site / "peek_method.py").write_text(PEEK)
    found = failures(audited(support, made, "--method", "peek", code=1, site=site))
    assert any(f.startswith("train synthetic/peek/seed-1: features: stages/00/weight changes when the features") for f in found), found
    assert not any("seed-1: labels" in f for f in found)  # it does not look at labels


@pytest.mark.parametrize(("name", "change", "said"), [
    ("nodes/orig_id", lambda a: np.concatenate([a[:-1], a[:1]]), "nodes"),
    ("edges/indices", lambda a: np.concatenate([a[:-1], [0]]).astype(a.dtype), "edges"),
    ("nodes/y", lambda a: np.concatenate([[a[-1]], a[1:]]), "labels"),
], ids=["node in two parts", "edge between parts", "wrong label"])
def test_a_faulty_split_is_named(support: ModuleType, made: Path, tmp_path: Path, name: str, change: Any, said: str) -> None:
    shutil.copytree(made / "outputs", tmp_path / "outputs")
    rewrite(tmp_path / "outputs/split/synthetic/split.h5", "split", lambda path, a: change(a) if path == name else a)
    found = failures(audited(support, tmp_path, "--method", "linear_probe", code=1))
    assert any(f.startswith(f"split {said}") for f in found), found


def test_training_features_that_saw_other_nodes_are_named(support: ModuleType, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "outputs", tmp_path / "outputs")
    path = "tasks/01/train/H"
    rewrite(tmp_path / "outputs/precompute/synthetic/features.h5", "precompute", lambda name, a: a + np.float32(0.1) if name == path else a)
    found = failures(audited(support, tmp_path, "--method", "linear_probe", code=1))
    assert any(f.startswith("precompute") and path in f for f in found), found
    assert not any(f.startswith("train") for f in found)  # nothing was trained on them


def test_other_parameters_than_the_artefacts_are_refused(support: ModuleType, made: Path) -> None:
    done = support.taamctl(made, *CALL, "--method", "linear_probe", "--set", "split.seed=7")
    assert done.code == 2
    assert "was made with split.seed 42 (now 7)" in done.err
