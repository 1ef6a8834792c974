"""The variants of an audit: the data as it is, and perturbed, each in a tree of its own below the
outputs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from taamctl.audit import isolated, perturb
from taamctl.audit.checks import SplitArrays
from taamctl.core.data_set import DataSet
from taamctl.core.types import CSR, NodeGraph
from taamctl.graph.canonical import content_hash, feature_hash
from taamctl.params.split_params import SplitParams
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout
from taamctl.runtime.raw_files import raw_files
from taamctl.runtime.stage_table import STAGES
from taamctl.store.artefacts import Artefact
from taamctl.stream.induce import message_edges

Run = tuple[str, int]  # method and seed
ORDER = ("stream", "classes", "shared", "stages", "tasks", "loss")  # as training comes by them


@dataclass(frozen=True)
class Variant:
    """One tree with a split and features in it.

    Attributes:
        folder: the working folder of what is trained there.
        layout: the tree inside, called as the user calls the outputs.
        perturbed: how many nodes or edges differ from the data as it is.
    """

    folder: Path
    layout: Layout
    perturbed: int = 0


@dataclass(frozen=True)
class Case:
    """One data set under audit.

    Attributes:
        source: the data set. raw: its graph. split: its split, as stored.
        temporary: the folder of the variants.
    """

    context: Context
    dataset: str
    source: DataSet
    raw: NodeGraph
    split: SplitArrays
    temporary: Path

    def used(self, graph: NodeGraph) -> CSR:
        """Return a graph's edges as the split uses them."""
        rule = self.context.params.section(SplitParams).symmetrize
        return message_edges(graph.adjacency, rule, self.source.meta.directed)

    def stored(self, stage: str) -> Path:
        """Return an audited artefact that all runs share."""
        return self.context.layout.file(stage, self.dataset)

    @contextmanager
    def plain(self, name: str, *, computed: bool) -> Iterator[Variant]:
        """Yield the data as it is, with the stored features or with newly computed ones."""
        with self._tree(name) as variant:
            _link(self.stored("split"), variant.layout.file("split", self.dataset))
            if computed:
                self._precompute(variant, self.raw)
            else:
                _link(self.stored("precompute"), variant.layout.file("precompute", self.dataset))
            yield variant

    @contextmanager
    def perturbed(self, kind: str) -> Iterator[Variant]:
        """Yield a variant with a split of the same nodes and with features of its own, all after
        one perturbation.
        """
        made = perturb.perturb(self.raw, self.split, kind)
        hashes = {
            "graph_sha256": content_hash(made.graph),
            "features_sha256": feature_hash(made.graph.features),
        }
        with self._tree(kind, made.count) as variant:
            arrays = perturb.split_changes(self.split, made.y, self.used(made.graph))
            target = variant.layout.file("split", self.dataset)
            perturb.rewrite(self.stored("split"), target, arrays, hashes)
            self._precompute(variant, made.graph)
            yield variant

    @contextmanager
    def _tree(self, name: str, count: int = 0) -> Iterator[Variant]:
        root, folder = self.context.layout.root, self.temporary / name
        if root.is_absolute() or ".." in root.parts or not root.parts:
            root = Path("outputs")
        folder.mkdir()
        try:
            yield Variant(folder, Layout(folder / root), count)
        finally:
            shutil.rmtree(folder)

    def _precompute(self, variant: Variant, graph: NodeGraph) -> None:
        from taamctl.stages import precompute

        there = Context(
            params=self.context.params,
            layout=variant.layout,
            data_root=self.context.data_root,
            progress=self.context.progress,
        )
        precompute.run(there, replace(self.source, load=lambda *_: graph, rows=None))

    def train(
        self, variant: Variant, runs: Sequence[Run], predicting: Mapping[Run, Path] | None = None
    ) -> dict[Run, isolated.TrainingRun]:
        """Train runs in a variant, in a process of their own.

        Args:
            predicting: trained artefacts that predict the variant's val and test nodes first.
        """
        root = variant.layout.root
        before = Layout(variant.folder / "before")
        for run, trained in (predicting or {}).items():
            _link(trained, before.file("train", self.dataset, *run))
        closed = [
            *(self.context.layout.root / stage for stage in STAGES),
            *(root / stage for stage in STAGES if stage not in ("precompute", "train")),
            before.root,
            *raw_files(self.context.data_root, self.source),
        ]
        task: isolated.Task = {
            "tree": self.context.params.tree,
            "outputs": str(root.relative_to(variant.folder)),
            "rehearsal": "before" if predicting else "",
            "dataset": self.dataset,
            "module": self.source.module,
            "runs": [list(run) for run in runs],
            "closed": [os.path.realpath(p) for p in closed],
            "open": [os.path.realpath(variant.layout.file("precompute", self.dataset))],
        }
        results = isolated.train_apart(variant.folder, task, self.context.tell)
        return {(result.method, result.seed): result for result in results}


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True)
    try:
        target.symlink_to(source.resolve())
    except OSError:  # Windows lets few users make links
        shutil.copyfile(source, target)


def changed(left: Path, right: Path, part: str = "") -> list[str]:
    """Return the arrays and root attributes in which two artefacts differ, in the order in which
    they come about.

    Args:
        part: only of groups of this part; all where empty.
    """
    with Artefact(left) as a, Artefact(right) as b:
        paths = sorted({*a.paths(), *b.paths()}, key=_order)
        wanted = [p for p in paths if not part or p.split("/")[-2] == part]
        found = [p for p in wanted if not _same(a, b, p)]
        if not part:
            one, two = a.attributes(), b.attributes()
            found += [f"attribute {n}" for n in sorted({*one, *two}) if one.get(n) != two.get(n)]
    return found


def _same(a: Artefact, b: Artefact, path: str) -> bool:
    if not (a.has(path) and b.has(path)):
        return False
    left, right = a.read(path), b.read(path)
    alike = left.dtype == right.dtype and left.shape == right.shape
    return alike and left.tobytes() == right.tobytes()


def _order(path: str) -> tuple[int, str]:
    """Return what sorts a trained artefact's arrays by when they come about."""
    first = path.partition("/")[0]
    return (ORDER.index(first) if first in ORDER else len(ORDER), path)
