"""Propagation and training on a Dask cluster of two worker processes: the bytes of a local run,
whatever dies on the way.

A method of another package goes along, so that workers have to find it too; it can be told to kill
its worker, or to refuse.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from taamctl.stages import infer, precompute, split, train

from taamctl.cli import common, reproduce_plans
from taamctl.cli.shared_options import Grid, RawSettings, Settings, Writing
from taamctl.cluster import client as clusters
from taamctl.cluster import (
    column_unit,
    probe,
    propagate_tasks,
    run_units,
    train_tasks,
    unit_result,
)
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import Progress
from taamctl.core.rows import FeatureRows, of_whole
from taamctl.core.types import CSR
from taamctl.graph.canonical import to_scipy
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.pipeline import compare_runs, remains, remove_remains
from taamctl.pipeline.printed_numbers import Table
from taamctl.pipeline.walk import to_eval as walk_to_eval
from taamctl.runtime import stage_jobs
from taamctl.runtime.job import Context
from taamctl.runtime.stage_table import TABLE
from taamctl.store import atomic_files
from taamctl.store.atomic_files import read_json
from taamctl.store.lock import writing

distributed = pytest.importorskip("distributed", reason="needs the dask extra")

METHODS, SEEDS = (
    ("taam", "ergnn", "trapped"),
    (1, 2),
)  # tasks side by side; one after the other, rows kept; of another package


class Counting(Progress):
    """Progress that counts units, and can interrupt as Ctrl-C does."""

    def __init__(self, stop_after: int = 10_000) -> None:
        self.total, self.done, self._stop_after = 0, 0, stop_after

    def start(self, label: str, total: int) -> None:
        if label.startswith("train on"):
            self.total, self.done = total, 0

    def advance(self, steps: int = 1) -> None:
        self.done += steps
        if self.total and self.done >= self._stop_after:
            raise KeyboardInterrupt


def context(
    outputs: Path,
    told: Path,
    *,
    methods: tuple[str, ...] = METHODS,
    seeds: tuple[int, ...] = SEEDS,
    progress: Progress | None = None,
    force: bool = False,
) -> Context:
    made = common.make_context(
        Grid(["synthetic"], list(methods), list(seeds)),
        Settings(
            overrides=["train.epochs=5", "train.threads=1", f"methods.trapped.folder={told}"],
            outputs=outputs,
        ),
        Writing(force=force, quiet=True),
        check_methods=True,
    )
    return replace(made, progress=progress or Progress())


def made_of(outputs: Path) -> dict[str, bytes]:
    """Return the bytes of everything that propagation, training, inference and evaluation made."""
    return {
        str(p.relative_to(outputs)): p.read_bytes()
        for stage in ("precompute", "train", "infer", "eval")
        for name in TABLE[stage].files
        for p in sorted((outputs / stage).rglob(name))
    }


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, told: Path) -> dict[str, bytes]:
    outputs = tmp_path_factory.mktemp("local") / "outputs"
    walk_to_eval(context(outputs, told))
    made = made_of(outputs)
    assert len(made) == 1 + len(METHODS) * len(SEEDS) * 7
    return made


def left(outputs: Path) -> list[Path]:
    return sorted((outputs / ".checkpoints").rglob("task-*.h5"))


def test_the_bytes_are_those_of_a_local_run_whatever_dies(
    client: Any, local: dict[str, bytes], told: Path, tmp_path: Path
) -> None:
    """A worker dies in the middle; this process is stopped in the middle and starts again; then
    all is there.
    """
    (told / "die").touch()
    progress = Counting(stop_after=12)
    with pytest.raises(KeyboardInterrupt):
        walk_to_eval(context(tmp_path, told, progress=progress), client)
    kept = len(left(tmp_path))
    assert progress.total == 30 and kept == 12
    again = Counting()
    walk_to_eval(context(tmp_path, told, progress=again), client)
    assert again.total == 30 - kept
    assert not (told / "die").exists(), "no worker died"
    assert made_of(tmp_path) == local
    assert left(tmp_path) == []
    record = read_json(
        tmp_path / "train" / "synthetic" / "taam" / "seed-2" / "train.h5.provenance.json"
    )
    assert record["facts"]["executor"] == "dask" and record["cost"]["wall_s"] > 0
    idle = Counting()
    walk_to_eval(context(tmp_path, told, progress=idle), client)
    assert idle.total == 0


def test_force_learns_everything_again(
    client: Any, local: dict[str, bytes], told: Path, tmp_path: Path
) -> None:
    for force in (False, True):
        progress = Counting()
        walk_to_eval(
            context(tmp_path, told, methods=("taam",), progress=progress, force=force), client
        )
        assert progress.total == 10
    assert made_of(tmp_path) == {
        path: data
        for path, data in local.items()
        if "/taam/" in path or path.startswith("precompute/")
    }


def test_force_leaves_checkpoints_alone_while_another_command_trains(
    client: Any, told: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        walk_to_eval(
            context(tmp_path, told, methods=("taam",), seeds=(1,), progress=Counting(stop_after=2)),
            client,
        )
    kept = left(tmp_path)
    hasty = replace(context(tmp_path, told, methods=("taam",), seeds=(1,), force=True), wait=False)
    with (
        writing(train.plan(hasty, "synthetic", "taam", 1)[1].outputs[0], wait=False, tell=print),
        ExitStack() as held,
        pytest.raises(TaamctlError, match="train.h5 is being written by"),
    ):
        train_tasks.learn(client, hasty, [("synthetic", "taam", 1)], held)
    assert left(tmp_path) == kept and len(kept) == 2


def test_what_a_cluster_has_learned_is_held_until_it_is_put_together(
    client: Any, told: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        walk_to_eval(
            context(tmp_path, told, methods=("taam",), seeds=(1,), progress=Counting(stop_after=2)),
            client,
        )
    again = context(tmp_path, told, methods=("taam",), seeds=(1,))
    (tasks,) = remains.unfinished(tmp_path)
    with ExitStack() as held:
        train_tasks.learn(client, again, [("synthetic", "taam", 1)], held)
        (tasks,) = remains.unfinished(tmp_path)
        assert "is being written by" in remove_remains.remove(tasks, tmp_path)
    kept = left(tmp_path)
    assert len(kept) == len(tasks.files) == 5
    assert remove_remains.remove(tasks, tmp_path) == ""
    assert not left(tmp_path)


@pytest.mark.parametrize(
    "change", [{"store_x": False}, {"hops": 0}, {"feature_norm": "row", "store_edges": True}]
)
def test_propagated_columns_are_put_together_as_here(
    change: dict[str, Any], client: Any, told: Path, tmp_path: Path
) -> None:
    made = []
    for name in ("here", "there"):
        one = context(tmp_path / name, told)
        tree = {**one.params.tree, "precompute": {**one.params.tree["precompute"], **change}}
        one = replace(one, params=replace(one.params, tree=tree))
        split.run(one, "synthetic")
        path = (
            precompute.run(one, "synthetic").path
            if name == "here"
            else propagate_tasks.run(client, one, "synthetic").path
        )
        made.append(path.read_bytes())
        assert [p.name for p in path.parent.iterdir() if p.name.endswith(".tmp")] == []
        record = read_json(path.with_name("features.h5.provenance.json"))
        assert (
            record["facts"] == ({} if name == "here" else {"executor": "dask"})
            and record["cost"]["wall_s"] > 0
        )
    assert made[0] == made[1]


def test_what_is_recorded_is_summed_over_the_units() -> None:
    costs = [
        {"wall_s": 1.0, "cpu_s": 2.0, "peak_memory_mib": 70.0},
        {"wall_s": 0.5, "cpu_s": 1.0, "peak_memory_mib": 90.0},
    ]
    assert unit_result.total(costs) == {"wall_s": 1.5, "cpu_s": 3.0, "peak_memory_mib": 90.0}


def test_raw_data_that_differ_here_are_told(
    client: Any, told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The raw features that are stored are read by this process, beside those that the workers
    read.
    """
    made = context(tmp_path, told)
    split.run(made, "synthetic")
    right = precompute.rows_of

    def other(*args: Any) -> FeatureRows:
        rows = right(*args)
        return of_whole(
            np.concatenate([to_scipy(b).toarray() if isinstance(b, CSR) else b for b in rows])
            + np.float32(1)
        )

    monkeypatch.setattr(precompute, "rows_of", other)
    assert made.params.section(PrecomputeParams).store_x
    with pytest.raises(TaamctlError, match="see different raw data of synthetic") as error:
        propagate_tasks.run(client, made, "synthetic")
    assert "--data-root" in error.value.hint
    assert not list((tmp_path / "precompute").rglob("features.h5*")) and not list(
        (tmp_path / "precompute").rglob("*.tmp")
    )


def test_bytes_that_are_not_those_of_the_worker_are_told(
    client: Any, told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = context(tmp_path, told)
    split.run(made, "synthetic")
    right = propagate_tasks._gathered

    def spoiled(*args: Any) -> list[column_unit.Columns]:
        found = right(*args)
        with Path(found[-1].file).open("r+b") as file:
            first = file.read(1)[0]
            file.seek(0)
            file.write(bytes([first ^ 1]))
        return found

    monkeypatch.setattr(propagate_tasks, "_gathered", spoiled)
    with pytest.raises(TaamctlError, match="does not match the checksum of the worker"):
        propagate_tasks.run(client, made, "synthetic")


def test_workers_are_looked_at_while_an_interrupt_still_ends_it(
    client: Any, told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = context(tmp_path, told)
    split.run(made, "synthetic")

    def stuck(*_: Any) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):
            time.sleep(0.1)
        return 1

    monkeypatch.setattr(probe, "require_everywhere", stuck)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        propagate_tasks.run(client, made, "synthetic")
    assert time.monotonic() - begun < 5


def test_a_unit_that_nobody_waits_for_leaves_nothing(told: Path, tmp_path: Path) -> None:
    made = context(tmp_path, told)
    split.run(made, "synthetic")
    source, folder = propagate_tasks._source(made, "synthetic"), tmp_path / "gone" / "away"
    params = made.params.section(PrecomputeParams)
    with pytest.raises(TaamctlError, match=f"no folder {folder}"):
        column_unit.propagate(source, params, "none", 0, 1, folder)
    assert not folder.parent.exists()
    folder.mkdir(parents=True)
    with pytest.raises(TaamctlError, match="runs other code"):
        column_unit.propagate(
            source._replace(expected=replace(source.expected, digest="0")),
            params,
            "none",
            0,
            1,
            folder,
        )
    assert list(folder.iterdir()) == []
    twice = [column_unit.propagate(source, params, "none", 0, 1, folder) for _ in range(2)]
    assert twice[0].file != twice[1].file and twice[0].crc32 == twice[1].crc32
    assert Path(twice[0].file).read_bytes() == Path(twice[1].file).read_bytes()


def test_local_propagation_removes_what_a_killed_command_left(told: Path, tmp_path: Path) -> None:
    made = context(tmp_path, told)
    split.run(made, "synthetic")
    path = made.layout.file("precompute", "synthetic")
    for _ in range(2):  # made, and reused
        kept = path.with_name(".features.h5.0123.tmp")
        kept.mkdir(parents=True)
        (kept / "0-4567").write_bytes(b"columns")
        assert precompute.run(made, "synthetic").path == path
        assert not kept.exists()


def test_two_writers_with_one_pid_have_two_temporary_files(tmp_path: Path) -> None:
    with atomic_files.atomic(tmp_path / "a") as one, atomic_files.atomic(tmp_path / "a") as other:
        one.write_text("one")
        other.write_text("other")
        assert one.read_text() == "one"


def test_what_a_method_refuses_is_told_once_and_not_tried_again(
    client: Any, told: Path, tmp_path: Path
) -> None:
    (told / "refuse").touch()
    try:
        with pytest.raises(TaamctlError, match="this is no method") as error:
            walk_to_eval(context(tmp_path, told, methods=("trapped",), seeds=(1,)), client)
        assert error.value.hint == "choose another one"
        assert (told / "refuse").read_text() == "no\n"
    finally:
        (told / "refuse").unlink()
    assert [p.name for p in left(tmp_path)] == ["task-000.h5"]


def test_a_unit_that_kills_worker_after_worker_is_named(
    client: Any, cluster: Any, told: Path, tmp_path: Path
) -> None:
    (told / "die").touch()
    cluster.scheduler.allowed_failures, before = 0, cluster.scheduler.allowed_failures
    try:
        with pytest.raises(
            TaamctlError, match=r"synthetic/trapped/seed-1 task 3/5: 1 workers? died over it"
        ):
            walk_to_eval(context(tmp_path, told, methods=("trapped",), seeds=(1,)), client)
    finally:
        cluster.scheduler.allowed_failures = before
        client.wait_for_workers(2, timeout=120)


def test_a_worker_that_differs_is_named(client: Any, told: Path, tmp_path: Path) -> None:
    made = context(tmp_path, told, methods=("taam",))
    walk_to_eval(made, client)
    recipe, job, _ = train.plan(made, "synthetic", "taam", 1)
    source = job.inputs[0][0]
    right = probe.expect(job, source, probe.provenance.sha256(source), recipe.device)
    probe.require_everywhere(client, [right, replace(right, mtime_ns=1)])  # a copy is as good
    for change, words in (
        ({"file": "/nowhere/features.h5"}, "cannot read /nowhere/features.h5"),
        ({"sha256": "0", "mtime_ns": 1}, "sees another .*features.h5 than this process"),
        ({"digest": "0"}, "runs other code of train, taam"),
        ({"plugins": (("taamctl.methods", "absent"),)}, "lacks what is to run"),
        ({"device": "cuda"}, "cannot train: .* no CUDA device"),
        ({"versions": (("torch", "1.0"),)}, "has torch .* instead of 1.0"),
    ):
        if change == {"device": "cuda"} and _has_cuda():
            continue
        with pytest.raises(
            TaamctlError, match=rf"2 of 2 workers cannot take part: tcp://127.0.0.1:\d+ {words}"
        ) as error:
            probe.require_everywhere(client, [right, replace(right, **change)])
        assert error.value.hint
    with pytest.raises(
        TaamctlError, match=rf"the worker on .* \(process {os.getpid()}\) runs other code"
    ):
        probe.require_here(replace(right, digest="0"))


def test_a_worker_with_other_units_differs(told: Path, tmp_path: Path) -> None:
    """The units themselves belong to no stage's code."""
    made = context(tmp_path / "outputs", told)
    source = split.run(made, "synthetic").path
    job = stage_jobs.precompute(made, data_set("synthetic"))
    wanted = probe.expect(job, source, probe.provenance.sha256(source), "cpu")
    own = Path(probe.__file__).resolve().parents[1]
    shutil.copytree(
        own, tmp_path / "other" / "taamctl", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "wanted").write_bytes(pickle.dumps(wanted))
    looked = []
    for line in ("", "# a comment\n", "EXTRA = 1\n"):
        with (tmp_path / "other" / "taamctl" / "cluster" / "column_unit.py").open("a") as file:
            file.write(line)
        asked = (
            "import pickle, sys; from taamctl.cluster import probe; "
            "print(probe.faults([pickle.load(open(sys.argv[1], 'rb'))]))"
        )
        looked.append(
            subprocess.run(
                [sys.executable, "-c", asked, str(tmp_path / "wanted")],
                cwd=tmp_path / "other",
                text=True,
                capture_output=True,
                check=True,
            ).stdout.strip()
        )
    other = str([("runs other code of precompute, synthetic", probe.AGAIN)])
    assert looked == ["[]", "[]", other]


def _has_cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def test_a_lost_scheduler_is_told() -> None:
    future = SimpleNamespace(result=lambda: (_ for _ in ()).throw(unit_result.CancelledError()))
    with pytest.raises(
        TaamctlError, match="task 1/2: the connection to the Dask scheduler was lost"
    ):
        unit_result.result_of(future, "task 1/2")


def test_work_does_not_wait_for_ever_where_no_worker_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clusters, "NO_WORKER", "1s")
    with clusters.connect(SimpleNamespace(), None, 1) as own:
        own.cluster.scale(0)
        sent = own.submit(sum, [1, 2], pure=False)
        with pytest.raises(TaamctlError, match="task 1/2: there is no worker left") as caught:
            unit_result.result_of(sent, "task 1/2")
        assert "run the same command again" in caught.value.hint


@pytest.mark.parametrize("address", ["nothing", "a stranger", "a worker", "no address"])
def test_who_is_no_scheduler_is_told_within_seconds(
    address: str, client: Any, told: Path, tmp_path: Path
) -> None:
    made = context(tmp_path, told)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        if address == "a stranger":
            threading.Thread(target=_answer, args=(listening,), daemon=True).start()
        else:
            listening.close()
        worker = next(iter(client.scheduler_info()["workers"]))
        where = {"a worker": worker, "no address": "over there"}.get(
            address, f"tcp://127.0.0.1:{port}"
        )
        words = "no Dask scheduler answers at|is a Dask Worker, not a scheduler"
        with pytest.raises(TaamctlError, match=words) as error, clusters.connect(made, where, 0):
            pass
    assert where in error.value.message and error.value.hint


def _answer(listening: socket.socket) -> None:
    other, _ = listening.accept()
    with other:
        other.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


def test_a_cluster_without_workers_is_waited_for_or_refused(told: Path, tmp_path: Path) -> None:
    with distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address=":0", protocol="tcp"
    ) as empty:
        hasty = replace(context(tmp_path, told), wait=False)
        with (
            pytest.raises(TaamctlError, match="has no worker"),
            clusters.connect(hasty, empty.scheduler_address, 0),
        ):
            pass
        lines: list[str] = []

        def tell(line: str) -> None:
            lines.append(line)
            empty.scale(1)

        with clusters.connect(
            replace(context(tmp_path, told), tell=tell), empty.scheduler_address, 0
        ) as made:
            assert len(made.scheduler_info()["workers"]) == 1
        assert "no worker yet; waiting" in lines[0]


@pytest.mark.parametrize(
    ("options", "words", "hint"),
    [
        (("--executor", "dask"), "on which workers", "--workers 2"),
        (("--scheduler", "tcp://a:1"), "--scheduler without a cluster", "--executor dask"),
        (("--workers", "2"), "--workers without a cluster", "--executor dask"),
        (
            ("--executor", "dask", "--workers", "2", "--scheduler", "tcp://a:1"),
            "--workers starts one",
            "one of the two",
        ),
        (("--executor", "ray"), "no such executor", "local, dask"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[str, ...], words: str, hint: str
) -> None:
    from typer.testing import CliRunner

    from taamctl.cli.app import app

    error = CliRunner().invoke(app, ["run", *options]).exception
    assert isinstance(error, TaamctlError) and words in error.message and hint in error.hint


def test_more_workers_than_a_machine_holds_are_refused_before_they_start(
    tmp_path: Path, support: Any
) -> None:
    done = support.taamctl(tmp_path, "run", "--executor", "dask", "--workers", "999999")
    assert done.code == 2 and "'--workers'" in done.err


# --------------------------------------------------------------------------------------------------


def test_workers_infer_and_evaluate(
    client: Any,
    local: dict[str, bytes],
    told: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def not_here(*arguments: object) -> None:
        raise AssertionError("inferred in this process")

    monkeypatch.setattr(infer, "infer_parts", not_here)
    lines: list[str] = []
    mine = replace(context(tmp_path, told, methods=("taam",)), tell=lines.append)
    walk_to_eval(mine, client)
    for stage in ("infer", "eval"):
        wrote = [line for line in lines if line.startswith(f"{stage} synthetic/taam/seed-")]
        assert len(wrote) == len(SEEDS)
        assert all(" wrote " in line for line in wrote)
    expected = {path: data for path, data in local.items() if "/taam/" in path}
    made = {path: data for path, data in made_of(tmp_path).items() if "/taam/" in path}
    assert made == expected

    lines.clear()
    walk_to_eval(mine, client)
    assert [line for line in lines if " wrote " in line] == []


def test_a_worker_that_cannot_see_the_trained_run_is_named(
    client: Any, told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = context(tmp_path, told, methods=("taam",), seeds=(1,))
    walk_to_eval(mine, client)
    (tmp_path / "infer/synthetic/taam/seed-1/infer.h5").unlink()
    seen = probe.expect

    def elsewhere(job: Any, file: Path, sha256: str, device: str) -> probe.Expected:
        return replace(seen(job, file, sha256, device), file="/nowhere/train.h5")

    monkeypatch.setattr(probe, "expect", elsewhere)
    with pytest.raises(TaamctlError, match="2 of 2 workers cannot take part") as caught:
        run_units.finish(client, mine, [("synthetic", "taam", 1)])
    assert "--outputs has to be on a disk that all workers share" in str(caught.value.hint)


def test_a_comparison_on_a_cluster_says_the_same(client: Any, told: Path, tmp_path: Path) -> None:
    found = []
    for name, where in (("here", None), ("there", client)):
        mine = context(tmp_path / name, told, methods=("taam", "ergnn"), seeds=(1,))
        path = compare_runs.run(mine, compare_runs.plan(mine, ["natural", "1"], None), None, where)
        found.append(path.read_bytes())
    assert found[0] == found[1]


def test_a_printed_table_on_a_cluster_says_the_same(client: Any, tmp_path: Path) -> None:
    found = []
    for name, where in (("here", None), ("there", client)):
        settings = RawSettings(
            overrides=["train.epochs=2", "train.threads=1"], outputs=tmp_path / name
        )
        plan = reproduce_plans.plan_of("taskid", ("synthetic",), [1], settings, Writing(quiet=True))
        table = plan.table(("synthetic",), where)
        assert isinstance(table, Table)
        untimed = [{k: v for k, v in r.items() if "cpu_s" not in k} for r in table.records]
        found.append((untimed, table.conditions))
    assert found[0] == found[1]
    assert any(record["ours"] is not None for record in found[0][0])
