"""What every data set promises. A new file under taamctl/datasets is tested by being there."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, NodeGraph
from taamctl.graph.canonical import content_hash, to_scipy
from taamctl.runtime.raw_files import find

PACKAGE = "taamctl.datasets"
NAMES = registry.names(PACKAGE)
REPOSITORY = Path(__file__).resolve().parents[2]


def sample_params(meta: Any) -> Any:
    """Return the smallest parameters that a data set declares, or None."""
    if meta.params is None:
        return None
    values = {}
    for f in dataclasses.fields(meta.params):
        bounds = f.metadata["bounds"]
        number = (bounds.get("ge", 0.0) + bounds.get("le", 1.0)) / 2
        values[f.name] = (f.metadata["choices"] or (int(number) if f.type == "int" else number,))[0]
    return meta.params(**values)


def load(name: str, root: Path | None) -> NodeGraph:
    """Load a data set with sample parameters."""
    module = registry.load(PACKAGE, name)
    graph = module.load(root, sample_params(module.META))
    assert isinstance(graph, NodeGraph)
    return graph


def test_the_known_sets_are_there() -> None:
    assert set(NAMES) >= {
        "arxiv",
        "citeseer",
        "computer",
        "corafull",
        "debian",
        "photo",
        "products",
        "reddit",
        "synthetic",
        "wikics",
    }


@pytest.mark.parametrize("name", NAMES)
def test_meta_is_complete(name: str) -> None:
    module = registry.load(PACKAGE, name)
    meta = module.META
    assert meta.licence and meta.citation and meta.order
    counts = (meta.nodes, meta.edges, meta.features, meta.classes)
    assert all(c > 0 for c in counts) or set(counts) == {-1}
    assert meta.feature_norm in ("none", "row")
    assert meta.unlabelled_as is None or 0 <= meta.unlabelled_as < meta.classes
    assert (meta.params is not None) == (meta.nodes < 0)
    if meta.files:
        assert meta.homepage.startswith("https://")
        assert all(
            f.url.startswith(("http://", "https://")) and f.url.endswith(f.name) for f in meta.files
        )
        assert len({f.name for f in meta.files}) == len(meta.files)
        assert all(len(f.sha256) in (0, 64) for f in meta.files)


@pytest.mark.parametrize("name", NAMES)
def test_what_fetch_downloads_is_where_load_looks(name: str, tmp_path: Path) -> None:
    module = registry.load(PACKAGE, name)
    if not module.META.files:
        assert load(name, tmp_path).num_nodes > 0  # embedded or generated: needs no data root
        return
    (tmp_path / name).mkdir()
    for file in module.META.files:
        path = tmp_path / name / file.name
        if path.suffix != ".zip":
            path.touch()
            continue
        members = [
            c.partition("::")[2] for c in module.LAYOUTS if c.startswith(f"{name}/{file.name}::")
        ]
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(members[0], b"")
    found = find(tmp_path, module.LAYOUTS)
    assert found is not None
    assert found.path.parent == tmp_path / name


@pytest.mark.parametrize("name", NAMES)
def test_missing_data_says_what_to_put_where(name: str, tmp_path: Path) -> None:
    module = registry.load(PACKAGE, name)
    if not module.META.files:
        pytest.skip("needs no files")
    with pytest.raises(TaamctlError, match=f"{name}: no raw data under {tmp_path}") as error:
        module.load(tmp_path, None)
    assert f"into {tmp_path / name}" in error.value.hint
    assert f"taamctl data fetch {name} --data-root {tmp_path}" in error.value.hint


@pytest.fixture(scope="module")
def prepared(request: pytest.FixtureRequest) -> Callable[[str], NodeGraph]:
    """Return a function that loads a data set, from the shared folder if it needs files, or
    skips.
    """
    graphs: dict[str, NodeGraph] = {}

    def get(name: str) -> NodeGraph:
        module = registry.load(PACKAGE, name)
        root = request.getfixturevalue("shared_data") if module.META.files else None
        if root and find(root, module.LAYOUTS) is None:
            pytest.skip(f"no raw data of {name} in {root}")
        if name not in graphs:
            graphs[name] = load(name, root)
        return graphs[name]

    return get


@pytest.mark.parametrize("name", NAMES)
def test_counts_match(name: str, prepared: Callable[[str], NodeGraph]) -> None:
    graph, meta = prepared(name), registry.load(PACKAGE, name).META
    if meta.nodes < 0:
        assert graph.labels.max() == len(graph.class_names) - 1
        return
    assert (graph.num_nodes, graph.num_features, len(graph.class_names)) == (
        meta.nodes,
        meta.features,
        meta.classes,
    )
    # a count made by adding the reverse of every edge counts a self-loop twice
    assert (
        meta.edges - int(to_scipy(graph.adjacency).diagonal().sum())
        <= graph.adjacency.nnz
        <= meta.edges
    )
    assert set(np.unique(graph.labels)) - {-1} == set(range(meta.classes))
    assert ((graph.labels < 0).any()) == (meta.unlabelled_as is not None)


@pytest.mark.parametrize("name", NAMES)
def test_graph_is_canonical(name: str, prepared: Callable[[str], NodeGraph]) -> None:
    graph = prepared(name)
    assert graph.name == name
    assert graph.adjacency.data is None
    for matrix in (graph.adjacency, graph.features):
        if isinstance(matrix, CSR):
            rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
            assert (
                np.diff(rows * matrix.shape[1] + matrix.indices) > 0
            ).all()  # sorted, nothing twice


# one line per layout: data set, raw file in the shared folder (or every member of an archive),
# where it goes
LAYOUTS = [
    ("citeseer", "citeseer.npz", "citeseer.npz"),
    ("citeseer", "citeseer.npz", "citeseer/citeseer.npz"),
    ("citeseer", "planetoid/citeseer.zip", "citeseer.zip"),
    ("citeseer", "planetoid/citeseer.zip", "planetoid/citeseer.zip"),
    ("citeseer", "planetoid/citeseer.zip", "citeseer/citeseer.zip"),
    ("citeseer", "planetoid/citeseer.zip", "citeseer_d6836239/"),
    ("citeseer", "planetoid/citeseer.zip", "CiteSeer/raw/"),
    ("citeseer", "planetoid/citeseer.zip", "citeseer/"),
    *(
        (name, f"{raw}.npz", where)
        for name, raw, dgl, suffix, pyg in (
            ("photo", "amazon_electronics_photo", "amazon_co_buy_photo", "b75d805d", "Photo"),
            (
                "computer",
                "amazon_electronics_computers",
                "amazon_co_buy_computer",
                "b5999b2e",
                "Computers",
            ),
        )
        for where in (
            f"{raw}.npz",
            f"{name}/{raw}.npz",
            f"{dgl}_{suffix}/{dgl}.npz",
            f"Amazon/{pyg}/raw/{raw}.npz",
            f"{pyg}/raw/{raw}.npz",
            f"{dgl}.zip",
            f"{name}/{dgl}.zip",
        )
    ),
]


def build(shared: Path, source: str, target: Path, folder: bool) -> None:
    """Put a raw file where another tool would: copied, zipped, or an archive unpacked."""
    (target if folder else target.parent).mkdir(parents=True, exist_ok=True)
    data = (shared / source).read_bytes()
    if folder:
        with zipfile.ZipFile(shared / source) as archive:
            archive.extractall(target)
    elif target.suffix == ".zip" and not source.endswith(".zip"):
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr(f"{target.stem}.npz", data)
    else:
        target.write_bytes(data)


@pytest.mark.parametrize(("name", "source", "where"), LAYOUTS)
def test_layouts_give_equal_graphs(
    name: str,
    source: str,
    where: str,
    tmp_path: Path,
    shared_data: Path,
    prepared: Callable[[str], NodeGraph],
) -> None:
    build(shared_data, source, tmp_path / where, where.endswith("/"))
    graph = load(name, tmp_path)
    assert content_hash(graph) == content_hash(prepared(name))
    assert graph.class_names == prepared(name).class_names


@pytest.mark.parametrize(("name", "source", "where"), LAYOUTS)
def test_truncated_file_is_named(
    name: str, source: str, where: str, tmp_path: Path, shared_data: Path
) -> None:
    target = tmp_path / where
    build(shared_data, source, target, where.endswith("/"))
    victim = target / "ind.citeseer.graph" if where.endswith("/") else target
    victim.write_bytes(victim.read_bytes()[: victim.stat().st_size // 2])
    with pytest.raises(TaamctlError, match=f"{victim.name}.* cannot be read") as error:
        load(name, tmp_path)
    assert "delete it and get it again" in error.value.hint


def test_citeseer_facts(prepared: Callable[[str], NodeGraph]) -> None:
    graph = prepared("citeseer")
    unlabelled = np.flatnonzero(graph.labels < 0)
    assert (len(unlabelled), int(to_scipy(graph.adjacency).diagonal().sum())) == (15, 124)
    assert isinstance(graph.features, CSR)
    assert np.diff(graph.features.indptr)[unlabelled].sum() == 0


def test_photo_keeps_its_self_loop(prepared: Callable[[str], NodeGraph]) -> None:
    from taamctl.graph.canonical import symmetrise

    graph = prepared("photo")
    assert (int(to_scipy(graph.adjacency).diagonal().sum()), symmetrise(graph.adjacency).nnz) == (
        1,
        238_163,
    )
    assert symmetrise(prepared("computer").adjacency).nnz == 491_722


def test_wrong_graph_in_the_right_place_is_refused(tmp_path: Path, shared_data: Path) -> None:
    (tmp_path / "photo").mkdir()
    (tmp_path / "photo" / "amazon_electronics_photo.npz").write_bytes(
        (shared_data / "amazon_electronics_computers.npz").read_bytes()
    )
    with pytest.raises(TaamctlError, match="labels lie outside|holds 13,752 nodes"):
        load("photo", tmp_path)


def test_importing_any_data_set_is_light() -> None:
    code = (
        f"import sys; from taamctl.core import registry; [registry.load({PACKAGE!r}, n) for n in "
        f"registry.names({PACKAGE!r})]; print(sorted({{'torch', 'dgl', 'ogb', 'scipy', 'pandas', "
        "'sklearn', 'h5py'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout.strip() == "[]"
