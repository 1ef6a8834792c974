"""Adding, removing, going back: what is learned stays, in every bit."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from taamctl.bank import add, change, store
from taamctl.bank.bank import load_bank
from taamctl.bank.graph_source import Source
from taamctl.bank.task_groups import new_groups
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Given
from taamctl.store.lock import writing


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in store.files(folder)}


def good(folder: Path) -> bool:
    return all(f.good for f in verify(folder))


def test_adding_a_task_changes_no_file_that_was_there(bank, graph) -> None:
    before = content(bank)
    (made,) = add.add(bank, Source(graph(("e",), seed=3)))
    after = content(bank)
    assert {k for k in before if after[k] != before[k]} == {"manifest.json"}
    assert set(after) - set(before) == {made.file, "router-0003.h5", "manifests/0003.json"}
    assert (made.number, made.classes, made.train, made.val) == (3, ("e",), 24, 6)
    assert good(bank)


@pytest.mark.parametrize("method", ["taam", "linear_probe", "taam_l"])
def test_experts_answer_older_tasks_bit_for_bit_after_more_was_learned(
    tmp_path, config, graph, method
) -> None:
    folder = tmp_path / "bank"
    store.create(folder, config(method))
    add.add(folder, Source(graph(("a", "b"), seed=1)))
    query = graph(("a", "b"), per_class=150, seed=9)
    first = load_bank(folder).predict(query, decide="expert", unknown=0)
    add.add(folder, Source(graph(("c", "d", "e"), seed=2)))
    bank = load_bank(folder)
    later = bank.predict(query, decide="expert", unknown=0)
    right = later.task == 1
    assert right.mean() > 0.9
    assert (first.label[right] == later.label[right]).all()
    assert good(folder)
    from taamctl.bank import task_file

    again = load_bank(folder).task(0)
    expert = task_file.expert(bank.config, bank.shared, again.state, 2)
    assert np.array_equal(task_file.reference(expert, bank.shared), again.reference)


def test_logits_of_a_node_do_not_depend_on_what_else_is_asked(bank) -> None:
    import torch

    from taamctl.bank import task_file

    expert = load_bank(bank).expert(1)
    h, deg = torch.randn(200, 12, generator=torch.Generator().manual_seed(0)), torch.ones(200)
    whole, order = (
        task_file.logits(expert, h, deg),
        torch.randperm(200, generator=torch.Generator().manual_seed(1)),
    )
    some = order[:77]
    assert torch.equal(task_file.logits(expert, h[some], deg[some]), whole[some])


def test_the_order_of_learning_changes_no_bit_of_the_router(tmp_path, config, graph) -> None:
    graphs = {
        "x": graph(("a", "b"), seed=1),
        "y": graph(("c", "d"), seed=2),
        "z": graph(("e",), seed=3),
    }
    answers = []
    for order in ("xyz", "zxy"):
        folder = tmp_path / order
        store.create(folder, config("linear_probe"))
        for key in order:
            add.add(folder, Source(graphs[key]))
        answers.append(load_bank(folder).predict(graph(tuple("abcde"), seed=8), unknown=0))
    assert answers[0].names == answers[1].names
    assert np.allclose(answers[0].confidence, answers[1].confidence, rtol=0, atol=1e-6)
    assert np.allclose(
        answers[0].novelty, answers[1].novelty, atol=5e-7
    )  # of float32 scores of order 1


def test_answers_are_right_on_an_easy_graph_that_mixes_all_tasks(tmp_path, config, graph) -> None:
    bank = tmp_path / "bank"
    store.create(bank, config("linear_probe"))
    for names in (("a", "b"), ("c", "d")):
        add.add(bank, Source(graph(names, seed=1)))
    query = graph(tuple("abcd"), per_class=50, seed=7)
    truth = [query.class_names[c] for c in query.labels]
    for decide in ("router", "expert", "soft"):
        made = load_bank(bank).predict(query, decide=decide)
        assert np.mean([a == b for a, b in zip(made.names, truth, strict=True)]) > 0.9, decide
        assert made.node.tolist() == list(range(200))
        assert ((made.confidence > 0) & (made.confidence <= 1)).all()
        assert set(made.task.tolist()) == {1, 2}


def test_nodes_of_a_class_that_was_never_learned_look_newer_than_others(bank, graph) -> None:
    made = load_bank(bank).predict(
        graph(("a", "c", "stranger"), per_class=80, seed=7), unknown=0.05
    )
    labels = graph(("a", "c", "stranger"), per_class=80, seed=7).labels
    assert np.median(made.novelty[labels == 2]) > np.median(made.novelty[labels < 2])
    assert made.unknown[labels == 2].mean() > made.unknown[labels < 2].mean()
    assert not load_bank(bank).predict(graph(("stranger",), seed=7), unknown=0).unknown.any()


def test_remove_and_rollback_restore(bank, graph) -> None:
    query = graph(tuple("abcd"), seed=7)
    before, listed = load_bank(bank).predict(query), store.current(bank)
    now = change.remove(bank, 1)
    assert (now.generation, now.classes) == (3, ("c", "d"))
    assert set(load_bank(bank).predict(query).names) <= {"c", "d"}
    assert good(bank)
    now = change.rollback(bank)
    assert (now.generation, now.tasks, now.router) == (4, listed.tasks, listed.router)
    after = load_bank(bank).predict(query)
    assert after.names == before.names
    assert np.array_equal(after.confidence, before.confidence)
    assert change.rollback(bank, 0).tasks == ()
    with pytest.raises(TaamctlError, match="knows no class"):
        load_bank(bank).predict(query)
    assert change.rollback(bank, 2).tasks == listed.tasks
    with pytest.raises(TaamctlError, match="no earlier generation 9"):
        change.rollback(bank, 9)
    with pytest.raises(TaamctlError, match="no task 7; it has 1, 2"):
        change.remove(bank, 7)


def test_a_purged_task_cannot_come_back(bank, graph) -> None:
    gone = store.find(store.current(bank), 1)
    change.remove(bank, 1, purge=True)
    assert not (bank / gone.file).exists()
    assert good(bank)
    with pytest.raises(TaamctlError, match="gone or damaged"):
        change.rollback(bank)
    (made,) = add.add(bank, Source(graph(("a", "b"), seed=1)))
    assert made.bounds == (2, 4)


def test_an_empty_bank_may_begin_again_with_other_features(bank, graph) -> None:
    change.rollback(bank, 0)
    add.add(bank, Source(graph(("a", "b"), features=7)))
    assert store.current(bank).num_features == 7
    assert good(bank)


def test_what_cannot_be_learned_is_refused_and_changes_nothing(bank, graph) -> None:
    before = content(bank)
    for made, wanted, match in (
        (graph(("a", "b")), None, "no class to learn: the bank knows a, b already"),
        (graph(("a", "e")), ["a"], "knows the class 'a' already"),
        (graph(("e",)), ["ee"], "no class 'ee'"),
        (graph(("e",), features=5), None, "5 features per node, the bank was made for 12"),
        (graph((), per_class=0), None, "has no node"),
        (graph(("e",), per_class=1), None, "no task can be formed"),
    ):
        with pytest.raises(TaamctlError, match=match):
            add.add(bank, Source(made), classes=wanted)
    assert content(bank) == before


def test_methods_that_a_bank_cannot_keep_are_refused_by_name(config) -> None:
    with pytest.raises(
        TaamctlError,
        match="cannot keep finetune: what it learns of a task depends on earlier tasks",
    ) as caught:
        config("finetune")
    assert "linear_probe" in caught.value.hint
    assert "taam," in caught.value.hint
    assert "analytic" in caught.value.hint
    assert "joint" not in caught.value.hint
    with pytest.raises(TaamctlError, match="no method called 'tamm'"):
        config("tamm")
    with pytest.raises(TaamctlError, match="validation nodes"):
        config("taam", "split.val=0.0", "split.train=0.8")
    for name in ("gaussian", "class"):
        with pytest.raises(TaamctlError, match=f"a bank cannot route by {name}: ") as caught:
            config("taam", f"infer.router={name}")
        assert "--set infer.router=auto" in caught.value.hint


def test_a_graph_is_cut_into_its_own_tasks_or_by_size(tmp_path, config, graph) -> None:
    from dataclasses import replace

    made = graph(tuple("abcde"))
    given = replace(made, given=Given(arrival=np.array([1, 0, 0, 2, 2])))
    for source, per_task, expected in (
        (given, None, [("b", "c"), ("a",), ("d", "e")]),
        (made, 2, [("a", "b"), ("c", "d"), ("e",)]),
        (made, None, [tuple("abcde")]),
    ):
        folder = tmp_path / str(len(expected)) / str(per_task)
        store.create(folder, config("linear_probe"))
        assert [t.classes for t in add.add(folder, Source(source), per_task=per_task)] == expected


def test_given_parts_are_used_and_test_nodes_left_alone(tmp_path, config, graph) -> None:
    from dataclasses import replace

    made = graph(("a", "b"), per_class=30)
    part = np.full(60, 2, np.int8)
    part[:20], part[20:25] = 0, 1
    folder = tmp_path / "bank"
    store.create(folder, config("linear_probe"))
    (task,) = add.add(folder, Source(replace(made, given=Given(part=part))))
    assert (task.train, task.val) == (20, 5)
    changed = replace(
        made,
        given=Given(part=part),
        features=np.where(part[:, None] == 2, 99, made.features).astype(np.float32),
    )
    other = tmp_path / "other"
    store.create(other, config("linear_probe"))
    assert add.add(other, Source(changed))[0].sha256 == task.sha256


def test_a_graph_without_edges_and_one_without_validation_nodes(tmp_path, config, graph) -> None:
    from dataclasses import replace

    folder, said = tmp_path / "bank", []
    store.create(folder, config())
    bare = graph(("a", "b"), edges=False)
    add.add(
        folder, Source(replace(bare, given=Given(part=np.zeros(60, np.int8)))), tell=said.append
    )
    assert any("no validation node" in line for line in said)
    made = load_bank(folder).predict(bare)
    assert not made.unknown.any()
    assert load_bank(folder).predict(replace(bare, labels=np.full(60, -1))).names == made.names
    none = load_bank(folder).predict(graph((), per_class=0))
    assert none.names == []


def test_a_killed_writer_leaves_what_the_next_command_sweeps(bank, graph) -> None:
    before = content(bank)

    def work() -> None:
        from taamctl.bank import manifest

        def die(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        manifest.write = die  # everything is written but the manifest
        add.add(bank, Source(graph(("e",))))

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert set(content(bank)) - set(before) == {f for f in content(bank) if "0003" in f} != set()
    assert [f.what for f in verify(bank) if not f.good] == sorted(set(content(bank)) - set(before))
    assert load_bank(bank).predict(graph(("a",))).names
    said: list[str] = []
    add.add(bank, Source(graph(("f",))), tell=said.append)
    assert sum("an interrupted command left it" in line for line in said) == 2
    assert good(bank)


def test_the_second_writer_waits_or_gives_up(bank, graph) -> None:
    with writing(bank / "manifest.json", wait=True, tell=lambda line: None):
        with pytest.raises(TaamctlError, match="is being written by"):
            add.add(bank, Source(graph(("e",))), wait=False)
        said: list[str] = []
        late = threading.Thread(
            target=lambda: add.add(bank, Source(graph(("e",))), tell=said.append)
        )
        late.start()
        late.join(1)
        assert late.is_alive()
    late.join(60)
    assert any("waiting" in line for line in said)
    assert store.current(bank).generation == 3


def test_an_older_manifest_that_was_put_back_loses_nothing(bank, graph) -> None:
    """Also what a kill between the copy of a generation and manifest.json leaves."""
    whole = content(bank)
    shutil.copy(bank / "manifests" / "0001.json", bank / "manifest.json")
    assert [t.number for t in store.current(bank).tasks] == [1]
    said: list[str] = []
    (made,) = add.add(bank, Source(graph(("e",))), tell=said.append)
    assert any("generation 2 is whole and follows" in line for line in said)
    assert made.number == 3 and [t.number for t in store.current(bank).tasks] == [1, 2, 3]
    assert all(content(bank)[f] == data for f, data in whole.items() if f != "manifest.json")
    assert good(bank)


def test_nothing_is_built_on_swapped_files(bank, graph) -> None:
    first, second = (bank / t.file for t in store.current(bank).tasks)
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    for work in (lambda: add.add(bank, Source(graph(("e",)))), lambda: change.remove(bank, 2)):
        with pytest.raises(
            TaamctlError, match=f"{first.name} is missing, or not the file that the bank lists"
        ):
            work()
    first.write_bytes(kept)
    assert good(bank) and store.current(bank).generation == 2


def test_small_classes_are_refused_only_among_those_to_learn(config, graph) -> None:
    params = replace(config().split, small_class="refuse")
    groups, _ = new_groups(Source(graph(("a", "b", "c"))), params, ("a",), None, None)
    assert [g.names for g in groups] == [("b", "c")]  # the known class has no node here that counts
    with pytest.raises(TaamctlError, match="classes with fewer than 1000 nodes: b, c"):
        new_groups(
            Source(graph(("a", "b", "c"))), replace(params, min_class_size=1000), ("a",), None, None
        )
