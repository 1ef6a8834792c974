"""precompute within a limit of memory: the same bytes, less at once, and a limit that is too low
is refused with one that is not.
"""

from __future__ import annotations

import os
import re
import tracemalloc
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from taamctl.stages import precompute, split

from taamctl.core.data_set import DataSet, data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT, Progress
from taamctl.core.rows import FeatureRows, of_whole
from taamctl.core.slices import Slices
from taamctl.core.types import CSR, PARTS, Array, NodeGraph
from taamctl.datasets import _imported, synthetic
from taamctl.features import all_groups, feature_source, group_features, memory_limit, raw_features
from taamctl.graph.canonical import (
    FeatureHash,
    adjacency_from_edges,
    feature_hash,
    from_scipy,
    symmetrise,
    to_scipy,
)
from taamctl.params import params_file
from taamctl.params import sections as parameters
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation import powers
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout
from taamctl.store.artefacts import Artefact
from taamctl.store.feature_store import FeatureStore
from taamctl.store.precompute_kind import PRECOMPUTE
from taamctl.stream.induce import induce

PARAMS = PrecomputeParams(
    hops=2,
    max_hop=4,
    self_loops="add",
    feature_norm="none",
    backend="torch",
    ls_hops=3,
    ls_reconnect=True,
    ls_seed=0,
    store_x=True,
    store_edges=True,
)
SYNTHETIC = synthetic.Params("tiny", 0.8, 0.3, 0)
OFFSET = np.array([0, 300, 420, 420, 700, 701, 760])


def case(
    directed: bool = False, sparse: bool = False, nodes: int = 900
) -> tuple[Array | CSR, group_features.Parts]:
    """Return raw features, and a split with an empty group, a group of one node, stored loops
    and isolated nodes.
    """
    rng = np.random.default_rng(0)
    ends = rng.integers(0, nodes, 6_000), rng.integers(0, nodes, 6_000)
    adjacency, _ = adjacency_from_edges(*ends, nodes, "g")
    drawn = rng.permutation(nodes)[: OFFSET[-1]]
    orig_id = np.concatenate([np.sort(drawn[low:high]) for low, high in pairwise(OFFSET)])
    edges = induce(adjacency if directed else symmetrise(adjacency), orig_id, OFFSET)
    x = rng.standard_normal((nodes, 37)).astype(np.float32)
    x[rng.random(x.shape) < (0.9 if sparse else 0.1)] = 0.0
    x[::50] = 0.0
    return from_scipy(x) if sparse else x, group_features.Parts(
        orig_id, OFFSET, edges.indptr, lambda low, high: edges.indices[low:high].copy()
    )


class Heard(Progress):
    """Keep the lines that are said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


def entries(
    work: all_groups.Work, width: int | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[Any, ...]]:
    """Return everything that is stored of all groups, as bytes, with so many columns at once;
    None: in memory.
    """
    monkeypatch.setattr(memory_limit, "columns_at_once", lambda *_: width)
    heard = Heard()
    with all_groups.begun(replace(work, limit=1), folder, heard, lambda: None) as (sha256, made):
        found: list[tuple[Any, ...]] = [(sha256,)]
        for g, low, high, values in made:
            found += [
                (g, low, high, name, a.dtype, a.shape, a.tobytes())
                for name, value in values.items()
                for a in (value.whole() if isinstance(value, Slices) else np.asarray(value),)
            ]
    assert not os.listdir(folder)
    tasks = (len(OFFSET) - 1) // len(PARTS)
    assert [line.split(":")[0] for line in heard.lines] == [f"task {k + 1}" for k in range(tasks)]
    return found


@pytest.mark.parametrize("norm", ["none", "row"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("backend", ["torch", "scipy"])
def test_no_bit_depends_on_how_much_is_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    directed: bool,
    sparse: bool,
    norm: str,
) -> None:
    raw, parts = case(directed, sparse)
    work = all_groups.Work(of_whole(raw), parts, replace(PARAMS, backend=backend), norm)
    whole = entries(work, None, tmp_path, monkeypatch)
    assert {"x_data" if sparse else "x", "H", "hop_mean", "indices"} <= {
        entry[3] for entry in whole[1:]
    }
    for width in (1, 5, 36, 37):
        assert entries(work, width, tmp_path, monkeypatch) == whole
    cuts = [0, 1, 7, 400, 400, 900]
    pieces = [raw.rows(a, b) if isinstance(raw, CSR) else raw[a:b] for a, b in pairwise(cuts)]
    streamed = replace(work, raw=FeatureRows((900, 37), lambda: iter(pieces)))
    assert entries(streamed, None, tmp_path, monkeypatch) == whole
    assert entries(streamed, 4, tmp_path, monkeypatch) == whole


@pytest.mark.parametrize("sparse", [False, True])
def test_the_hash_of_features_does_not_depend_on_how_rows_are_cut(sparse: bool) -> None:
    raw, _ = case(sparse=sparse)
    for cuts in ([0, 900], [0, 1, 450, 450, 900]):
        digest = FeatureHash()
        for a, b in pairwise(cuts):
            digest.update(raw.rows(a, b) if isinstance(raw, CSR) else raw[a:b])
        assert digest.hexdigest() == feature_hash(raw)
    other = case(sparse=sparse)[0]
    values = other.data if isinstance(other, CSR) else other.ravel()
    assert values is not None
    values[-1] += 1
    assert feature_hash(other) != feature_hash(raw)


@pytest.mark.parametrize("blocks", [[(3, 37)], [(900, 36)], [(900, 37), (1, 37)]])
def test_features_that_come_otherwise_than_said_are_refused(
    tmp_path: Path, blocks: list[tuple[int, int]]
) -> None:
    _, parts = case()
    rows = FeatureRows((900, 37), lambda: [np.zeros(shape, np.float32) for shape in blocks])
    with (
        pytest.raises(TaamctlError, match="should be 900 rows of 37"),
        all_groups.begun(
            all_groups.Work(rows, parts, PARAMS, "none"), tmp_path, SILENT, lambda: None
        ),
    ):
        pass


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("double",), "dense float64"),
        (("dense", "sparse"), "are CSR, those before dense float32"),
        (("sparse", "binary"), "are CSR without values, those before CSR"),
    ],
)
def test_features_of_another_type_or_of_two_kinds_are_refused(
    kinds: tuple[str, ...], words: str
) -> None:
    x = np.ones((450, 37))
    of = {
        "double": x,
        "dense": x.astype(np.float32),
        "sparse": from_scipy(x),
        "binary": from_scipy(x, binary=True),
    }
    with pytest.raises(TaamctlError, match=words) as caught:
        list(FeatureRows((900, 37), lambda: [of[kind] for kind in kinds]))
    assert caught.value.hint == "its data set's features() and load() must say the same"


def test_lengths_of_rows_are_told_of_csr_alone() -> None:
    sparse, dense = (case(sparse=sparse)[0] for sparse in (True, False))
    assert isinstance(sparse, CSR)
    for rows in (
        of_whole(sparse),
        FeatureRows(sparse.shape, lambda: iter([sparse.rows(0, 7), sparse.rows(7, 900)])),
    ):
        assert np.array_equal(rows.lengths(), np.diff(sparse.indptr))
    assert (
        of_whole(dense).lengths() is None
        and FeatureRows((900, 37), lambda: iter([dense])).lengths() is None
    )


def test_too_low_a_limit_is_refused_with_one_that_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, parts = case()
    rows = FeatureRows((900, 37), lambda: [np.asarray(raw)])
    monkeypatch.setattr(memory_limit, "used", lambda: 100 << 20)
    with (
        pytest.raises(
            TaamctlError,
            match="20 MiB of memory are too little to propagate 760 nodes: 132 MiB are in use",
        ) as caught,
        all_groups.begun(
            all_groups.Work(rows, parts, PARAMS, "none", 20 << 20), tmp_path, SILENT, lambda: None
        ),
    ):
        pass
    enough = re.fullmatch(r"use --max-memory (\d+)M or more", caught.value.hint)
    assert enough is not None
    with all_groups.begun(
        all_groups.Work(rows, parts, PARAMS, "none", int(enough[1]) << 20),
        tmp_path,
        SILENT,
        lambda: None,
    ) as (_, made):
        assert len(list(made)) == 6
    with (
        pytest.raises(TaamctlError) as caught,
        all_groups.begun(
            all_groups.Work(of_whole(raw), parts, PARAMS, "none", 20 << 20),
            tmp_path,
            SILENT,
            lambda: None,
        ),
    ):
        pass
    assert "taamctl data import" in caught.value.hint


@pytest.mark.parametrize("norm", ["none", "row"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "binary"])
@pytest.mark.parametrize("filled", [0.05, 0.45, 0.9])
def test_what_is_held_in_memory_is_what_it_was_priced_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, norm: str, filled: float
) -> None:
    rng, (n, f), asked = np.random.default_rng(0), (12_000, 300), []
    x = (rng.random((n, f), dtype=np.float32) + 0.5) * (
        rng.random((n, f), dtype=np.float32) < filled
    )
    raw = x if kind == "dense" else from_scipy(x, binary=kind == "binary")
    offset = np.array([0, 6_000, 8_000, n])
    edges = induce(
        adjacency_from_edges(*rng.integers(0, n, (2, 3_000)), n, "g")[0], np.arange(n), offset
    )
    parts = group_features.Parts(
        np.arange(n), offset, edges.indptr, lambda low, high: edges.indices[low:high].copy()
    )
    work = all_groups.Work(
        FeatureRows((n, f), of_whole(raw).make),
        parts,
        replace(PARAMS, backend="scipy"),
        norm,
        1 << 40,
    )
    memory_limit.warm_up(work.params)
    monkeypatch.setattr(
        memory_limit, "columns_at_once", lambda limit, sizes, params: asked.append(sizes)
    )
    monkeypatch.setattr(
        memory_limit, "BLOCK_BYTES", 0
    )  # what passes through is not to cover for what stays
    tracemalloc.start()
    try:
        with all_groups.begun(work, tmp_path, SILENT, lambda: None) as (_, made):
            for _ in made:
                pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    price = asked[0].raw + asked[0].group(work.params, powers.BLOCK, held=True)
    assert price / 4 < peak < price + 3 * (4 << 20)


def test_a_graph_that_is_loaded_whole_and_cannot_fit_is_refused_before_it_is_loaded() -> None:
    large = replace(synthetic.META, edges=10**9, nodes=10**6)
    source = DataSet("large", large, load=lambda root, params: pytest.fail("it was loaded"))
    with pytest.raises(TaamctlError, match="too little to load the whole graph") as caught:
        feature_source.rows_of(source, None, None, 1 << 30)
    assert "taamctl data import" in caught.value.hint


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted in /proc")
def test_a_group_that_is_stopped_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, parts = case()
    ticks, seen = iter(range(12)), []

    def tick() -> None:
        seen.append(open_files())
        if next(ticks, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(memory_limit, "columns_at_once", lambda *_: 5)
    before = open_files()
    with (
        pytest.raises(KeyboardInterrupt),
        all_groups.begun(
            all_groups.Work(of_whole(raw), parts, PARAMS, "none", 1), tmp_path, SILENT, tick
        ) as (_, made),
    ):
        list(made)
    assert max(seen) == before + 1
    assert open_files() == before, (
        "the scratch file has no name, so an open one is all that could be left"
    )


def context(folder: Path, dataset: str, limit: int | None = None, **changes: Any) -> Context:
    overrides = [f"run.datasets=[{dataset}]", *(f"precompute.{k}={v}" for k, v in changes.items())]
    return Context(
        parameters.Params("packaged", params_file.read(params_file.PACKAGED, overrides)),
        Layout(folder),
        max_memory=limit,
    )


@pytest.mark.parametrize("kind", ["generated", "imported", "imported sparse", "imported binary"])
def test_the_file_is_the_same_in_every_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    name = "synthetic" if kind == "generated" else "mine"
    monkeypatch.chdir(tmp_path)
    if kind != "generated":
        made = synthetic.load(None, SYNTHETIC)
        x = np.asarray(made.features) * (np.random.default_rng(0).random(made.features.shape) < 0.2)
        made = replace(
            made,
            features=np.asarray(made.features)
            if kind == "imported"
            else from_scipy(x, binary="binary" in kind),
        )
        _imported.write(tmp_path / "data" / "mine.h5", made, {})
    split.run(context(tmp_path / "one", name), name)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "split").symlink_to(tmp_path / "one" / "split")
    whole = precompute.run(context(tmp_path / "one", name, feature_norm="row"), name)
    monkeypatch.setattr(memory_limit, "columns_at_once", lambda *_: 3)
    if kind == "generated":
        monkeypatch.setattr(synthetic, "draw_edges", None)  # no edge is drawn
    limited = precompute.run(context(tmp_path / "two", name, 1, feature_norm="row"), name)
    assert limited.path.read_bytes() == whole.path.read_bytes()
    assert limited.record["key"]["params"] == whole.record["key"]["params"]
    assert sorted(p.name for p in limited.path.parent.iterdir()) == [
        ".features.h5.lock",
        "features.h5",
        "features.h5.provenance.json",
    ]
    with Artefact(limited.path, PRECOMPUTE) as features:
        assert features.has("tasks/00/train/x") == (kind in ("generated", "imported"))
    rows, task = (
        feature_source.rows_of(data_set(name), None, SYNTHETIC),
        FeatureStore(limited.path, "").task(0, ("x",)),
    )
    with Artefact(limited.path, PRECOMPUTE) as features:
        ids = features.read("tasks/00/train/orig_id")
    x = np.concatenate([to_scipy(b).toarray() if isinstance(b, CSR) else b for b in rows])[ids]
    found = CSR(task.extras["x_indptr"], task.extras["x_indices"], task.extras["x_data"], x.shape)
    assert np.array_equal(to_scipy(found).toarray(), raw_features.normalise(x, "row")), (
        "methods get CSR arrays whatever is stored"
    )
    assert precompute.run(
        context(tmp_path / "two", name, 5 << 40, feature_norm="row"), name
    ).reused, "a limit changes no key"


def test_other_features_than_those_that_were_split_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split.run(context(tmp_path, "synthetic"), "synthetic")
    monkeypatch.setattr(
        synthetic, "features", lambda root, params: of_whole(np.zeros((2_000, 16), np.float32))
    )
    with pytest.raises(TaamctlError, match="is not what .* was made from"):
        precompute.run(context(tmp_path, "synthetic"), "synthetic")


@pytest.mark.parametrize("cut", [1, 1_000, 2_000])
def test_noise_drawn_in_blocks_is_that_of_one_draw(
    monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    whole = np.concatenate([np.asarray(block) for block in synthetic.features(None, SYNTHETIC)])
    monkeypatch.setattr(synthetic, "block_rows", lambda _: cut)
    assert np.array_equal(
        np.concatenate([np.asarray(b) for b in synthetic.features(None, SYNTHETIC)]), whole
    )
    drawn = np.random.Generator(np.random.PCG64(5)).standard_normal((2_000, 7), dtype=np.float32)
    stream = np.random.Generator(np.random.PCG64(5))
    pieces = [
        stream.standard_normal((min(cut, 2_000 - at), 7), dtype=np.float32)
        for at in range(0, 2_000, cut)
    ]
    assert np.array_equal(np.concatenate(pieces), drawn)


def test_both_ways_to_a_data_sets_features_agree() -> None:
    graph: NodeGraph = synthetic.load(None, SYNTHETIC)
    assert np.array_equal(
        np.concatenate([np.asarray(b) for b in synthetic.features(None, SYNTHETIC)]),
        np.asarray(graph.features),
    )
