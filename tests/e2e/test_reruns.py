"""What a change reruns: twelve kinds of change, the same under `taamctl run` and `dvc repro`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges

REPOSITORY = Path(__file__).resolve().parents[2]
METHODS = ("taam", "finetune", "linear_probe")
PER_METHOD = 4  # train, infer, eval, and as the graph is an own one, lens
Stale = set[tuple[str, str]]  # (stage, method or empty)


def graph(seed: int) -> NodeGraph:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(4), 12)
    ends = rng.integers(0, len(labels), (2, 200))
    adjacency, _ = adjacency_from_edges(ends[0], ends[1], len(labels), "shop")
    features = rng.normal(size=(len(labels), 4)).astype(np.float32)
    names = tuple(f"kind {i}" for i in range(4))
    return NodeGraph("shop", adjacency, features, labels, names)


@dataclass(frozen=True)
class Folder:
    """A folder that `taamctl init` has set up, and a copy of the code that may be changed."""

    root: Path
    site: Path
    environment: dict[str, str]
    support: ModuleType

    def run(self, *command: str) -> str:
        if command[0] == "taamctl":
            ended = self.support.taamctl(self.root, *command[1:], env=self.environment)
            assert ended.code == 0, ended
            return str(ended.out + ended.err)
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.root,
            env=self.environment,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def stale(self) -> Stale:
        """Return what `taamctl run` would make again of itself, not after another stage."""
        lines = json.loads(self.run("taamctl", "status", "--json"))
        return {
            (line["stage"], line["method"])
            for line in lines
            if any(not reason.startswith("after ") for reason in line["reasons"])
        }

    def stale_by_dvc(self) -> Stale:
        """Return what `dvc repro` would run again, once it has written the keys anew."""
        self.run("taamctl", "keys")
        changed = json.loads(self.run("dvc", "status", "--json"))
        names = {re.sub(r"@(.*)", r" \1", name) for name in changed if name != "keys"}
        found = set()
        for name in names:
            stage, _, item = name.partition(" ")
            found.add((stage, item.split("-")[1] if "-" in item else ""))
        return found

    @contextmanager
    def edited(self, file: Path, old: str, new: str) -> Iterator[None]:
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old} in {file}: {text.count(old)}"
        file.write_text(text.replace(old, new), encoding="utf-8")
        try:
            yield
        finally:
            file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Folder:
    """Return a folder in which `taamctl run` and then `dvc repro` have made everything."""
    pytest.importorskip("dvc")
    base = tmp_path_factory.mktemp("reruns")
    site, root = base / "site", base / "shop"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "taamctl", site / "taamctl", ignore=ignored)
    shutil.copytree(REPOSITORY / "stages", site / "taamctl" / "stages", ignore=ignored)
    own = {
        f"DVC_{name}": str(base / "dvc-home" / name.lower())
        for name in ("GLOBAL_CONFIG_DIR", "SYSTEM_CONFIG_DIR", "SITE_CACHE_DIR")
    }
    environment = support.with_commands(
        base / "commands",
        PYTHONPATH=str(site),
        DVC_NO_ANALYTICS="1",
        GIT_CEILING_DIRECTORIES=str(base),
        **own,
    )
    _imported.write(root / "data" / "shop.h5", graph(0), {})
    made = Folder(root, site, environment, support)
    methods = [word for name in METHODS for word in ("--method", name)]
    settings = ("train.epochs=2", "train.threads=1", "report.pictures=false")
    sets = [word for setting in settings for word in ("--set", setting)]
    made.run("taamctl", "init", "--dataset", "shop", *methods, "--seed", "1", *sets)
    assert made.run("taamctl", "run").count(": wrote ") == 2 + PER_METHOD * len(METHODS) + 1
    return made


def test_dvc_takes_what_the_command_line_has_made(folder: Folder) -> None:
    files = [p for p in (folder.root / "outputs").rglob("*") if p.is_file()]
    before = {p: p.read_bytes() for p in files if not p.name.startswith(".")}
    told = folder.run("dvc", "repro")
    assert ": wrote " not in told
    assert told.count(": reused ") == 2 + PER_METHOD * len(METHODS) + 1
    assert {path: path.read_bytes() for path in before} == before
    assert folder.stale() == folder.stale_by_dvc() == set()


LEARNT = ("train", "infer", "lens")  # the stages that a method's own code is part of
LOOP = {(stage, method) for stage in LEARNT for method in ("taam", "finetune")}
TAAM = {(stage, "taam") for stage in LEARNT}
INFER = {(stage, method) for stage in ("infer", "lens") for method in METHODS}
# file below taamctl/, what is there, what comes in its place, what that reruns
CODE: dict[str, tuple[str, str, str, Stale]] = {
    "a docstring": (
        "core/types.py",
        '"""',
        '"""Said in other words. ',
        set(),
    ),
    "the text of an error": (
        "learning/contract/device.py",
        "raise TaamctlError(\n",
        'raise TaamctlError(\n            "in other words: "\n',
        set(),
    ),
    "a comment": ("learning/kernels/loop.py", "    history: ", "    # why\n    history: ", set()),
    "formatting": (
        "propagation/powers.py",
        "        z = step(z)\n    return z",
        "        z = step(\n            z\n        )\n\n    return (z)",
        set(),
    ),
    "an equation of one method": (
        "models/layer.py",
        "a * (da - (a * da).sum(1, keepdim=True))",
        "a * (da - 2 * (a * da).sum(1, keepdim=True))",
        TAAM,
    ),
    "a helper of two methods": (
        "learning/kernels/adam.py",
        "beta2=BETAS[1]",
        "beta2=BETAS[0]",
        LOOP,
    ),
    "propagation": (
        "propagation/powers.py",
        "        z = step(z)\n        yield z",
        "        z = step(step(z))\n        yield z",
        {("precompute", ""), *INFER},  # infer propagates halves of the validation nodes itself
    ),
    "the file of a bank's task": (
        "store/bank_kinds.py",
        '"one task of a bank, ',
        '"a task of a bank, ',
        set(),
    ),
    "the file of infer": (
        "store/infer_kind.py",
        '"task-ID decisions and ',
        '"what was decided, and ',
        {*INFER, *(("eval", method) for method in METHODS)},
    ),
    "a text of the report": (
        "report/claims.py",
        "task ID easy.",
        "task ID simple.",
        {("report", "")},
    ),
}


def first_only(text: str, old: str) -> str:
    """Return `old` with as much around its first place in `text` as makes it unique."""
    start = text.index(old)
    end = start + len(old)
    while text.count(text[start:end]) > 1:
        end += 1
    return text[start:end]


@pytest.mark.parametrize("kind", CODE)
def test_a_change_of_code_reruns_what_can_reach_it(folder: Folder, kind: str) -> None:
    name, old, new, expected = CODE[kind]
    file = folder.site / "taamctl" / name
    whole = first_only(file.read_text(encoding="utf-8"), old)
    with folder.edited(file, whole, whole.replace(old, new, 1)):
        assert folder.stale() == expected
        assert folder.stale_by_dvc() == expected


def test_a_parameter_of_one_method_reruns_it_alone(folder: Folder) -> None:
    text = (folder.root / "params.yaml").read_text(encoding="utf-8")
    (old,) = re.findall(r"rank: \d+ +# rank of the", text)
    with folder.edited(folder.root / "params.yaml", old, old.replace("4", "3")):
        assert folder.stale() == folder.stale_by_dvc() == {("train", "taam")}


def test_a_raw_file_counts_by_its_content(folder: Folder) -> None:
    raw = folder.root / "data" / "shop.h5"
    os.utime(raw, (1, 1))
    assert folder.stale() == folder.stale_by_dvc() == set()
    _imported.write(raw, graph(1), {})
    try:
        assert folder.stale() == folder.stale_by_dvc() == {("split", "")}
    finally:
        _imported.write(raw, graph(0), {})


def test_a_library_counts_for_who_uses_it(folder: Folder) -> None:
    other = folder.site / "scikit_learn-99.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: scikit-learn\nVersion: 99.0\n", encoding="utf-8"
    )
    probe = {(stage, "linear_probe") for stage in LEARNT}
    try:
        assert folder.stale() == folder.stale_by_dvc() == probe
        told = folder.run("taamctl", "status")
        assert re.search(r"scikit-learn \S+ -> 99\.0", told)
    finally:
        shutil.rmtree(other)


@pytest.mark.parametrize("verb", ["taamctl run", "dvc repro"])
def test_what_is_said_to_rerun_is_what_reruns(folder: Folder, verb: str) -> None:
    change = CODE["an equation of one method"]
    file = folder.site / "taamctl" / change[0]
    with folder.edited(file, change[1], change[2]):
        told = folder.run(*verb.split())
        wrote = set(re.findall(r"^(\w+ \S+): wrote ", told, re.MULTILINE))
    own = {f"{stage} shop/taam/seed-1" for stage in LEARNT}
    assert own <= wrote <= own | {"eval shop/taam/seed-1", "report shop"}
    folder.run(*verb.split())
    assert folder.stale() == set()


def test_another_machine_reuses_what_it_pulls(folder: Folder) -> None:
    """Everything that reuse needs is in DVC's hands: a folder without outputs gets it back."""
    store = folder.root.parent / "store"
    folder.run("dvc", "remote", "add", "--local", "store", str(store))
    folder.run("dvc", "repro")
    folder.run("dvc", "push", "--remote", "store")
    shutil.rmtree(folder.root / "outputs")
    folder.run("dvc", "pull", "--remote", "store")
    assert set(json.loads(folder.run("dvc", "status", "--json"))) == {"keys"}  # it is run always
    told = folder.run("taamctl", "run")
    assert ": wrote " not in told
    assert told.count(": reused ") == 2 + PER_METHOD * len(METHODS) + 1


def test_a_copied_folder_is_as_good(folder: Folder, tmp_path: Path) -> None:
    shutil.copytree(folder.root / "outputs", tmp_path / "elsewhere")
    told = folder.run("taamctl", "run", "--outputs", str(tmp_path / "elsewhere"))
    assert ": wrote " not in told


def test_a_lens_that_is_gone_is_missed_and_made_again_by_both(folder: Folder) -> None:
    lens = folder.root / "outputs" / "lens" / "shop" / "taam" / "seed-1" / "lens.json"
    page = folder.root / "outputs" / "report" / "report.json"
    whole = page.read_bytes()
    for verb in ("taamctl run", "dvc repro"):
        before = lens.read_bytes()
        lens.unlink()
        lines = json.loads(folder.run("taamctl", "status", "--json"))
        gone = [(line["stage"], line["method"]) for line in lines if line["state"] == "missing"]
        assert gone == [("lens", "taam")]
        assert ("lens", "taam") in folder.stale_by_dvc()
        assert "lens shop/taam/seed-1: wrote " in folder.run(*verb.split())
        assert lens.read_bytes() == before
        assert page.read_bytes() == whole
        assert folder.stale() == set()


def test_a_run_that_keeps_no_raw_features_says_why_it_has_no_lens(
    folder: Folder, tmp_path: Path
) -> None:
    line = ("run", "--method", "taam", "--set", "precompute.store_x=false")
    told = folder.run("taamctl", *line, "--outputs", str(tmp_path))
    assert "no figures of a mixed graph: they need precompute.store_x" in told
    assert not list(tmp_path.rglob("lens.json"))
