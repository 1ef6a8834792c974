"""The variants of an audit: the data as it is, and perturbed, each in a tree of its own below the
outputs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
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
from taamctl.runtime.layout import STAGES, Layout
from taamctl.runtime.raw_files import raw_files
from taamctl.store.artefacts import Artefact
from taamctl.stream.induce import message_edges

Run = tuple[str, int]


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
        return message_edges(
            graph.adjacency,
            self.context.params.section(SplitParams).symmetrize,
            self.source.meta.directed,
        )

    def stored(self, stage: str) -> Path:
        """Return an audited artefact that all runs share."""
        return self.context.layout.file(stage, self.dataset)

    @contextmanager
    def plain(self, name: str, *, computed: bool) -> Iterator[Variant]:
        """Yield the data as it is, with the stored features or with newly computed ones."""
        with self._tree(name) as variant:
            for stage in ("split",) if computed else ("split", "precompute"):
                target = variant.layout.file(stage, self.dataset)
                target.parent.mkdir(parents=True)
                target.symlink_to(self.stored(stage).resolve())
            if computed:
                self._precompute(variant, self.raw)
            yield variant

    @contextmanager
    def perturbed(self, kind: str) -> Iterator[Variant]:
        """Yield a variant with a split of the same nodes and with features of its own, all after
        one perturbation.
        """
        made = perturb.perturb(self.raw, self.split, kind)
        with self._tree(kind, made.count) as variant:
            changes = perturb.split_changes(self.split, made.y, self.used(made.graph))
            perturb.rewrite(
                self.stored("split"),
                variant.layout.file("split", self.dataset),
                changes,
                {
                    "graph_sha256": content_hash(made.graph),
                    "features_sha256": feature_hash(made.graph.features),
                },
            )
            self._precompute(variant, made.graph)
            yield variant

    @contextmanager
    def _tree(self, name: str, count: int = 0) -> Iterator[Variant]:
        root, folder = self.context.layout.root, self.temporary / name
        inside = (
            Path("outputs") if root.is_absolute() or ".." in root.parts or not root.parts else root
        )
        folder.mkdir()
        try:
            yield Variant(folder, Layout(folder / inside), count)
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
        self, variant: Variant, runs: Sequence[Run], predicting: dict[Run, Path] | None = None
    ) -> dict[Run, isolated.TrainingRun]:
        """Train runs in a variant, in a process of their own.

        Args:
            predicting: trained artefacts that predict the variant's val and test nodes first.
        """
        inside = variant.layout.root.relative_to(variant.folder)
        before = Layout(variant.folder / "before")
        for (method, seed), trained in (predicting or {}).items():
            target = before.file("train", self.dataset, method, seed)
            target.parent.mkdir(parents=True)
            target.symlink_to(trained.resolve())
        features = variant.layout.file("precompute", self.dataset)
        closed = [self.context.layout.root / stage for stage in STAGES]
        closed += [
            variant.layout.root / stage for stage in STAGES if stage not in ("precompute", "train")
        ]
        closed += [before.root, *raw_files(self.context.data_root, self.source)]
        task = {
            "tree": self.context.params.tree,
            "outputs": str(inside),
            "rehearsal": "before" if predicting else "",
            "dataset": self.dataset,
            "module": self.source.module,
            "runs": [list(run) for run in runs],
            "closed": [os.path.realpath(p) for p in closed],
            "open": [os.path.realpath(features)],
        }
        return {
            (t.method, t.seed): t
            for t in isolated.train_apart(variant.folder, task, self.context.tell)
        }


def changed(left: Path, right: Path, below: str = "") -> list[str]:
    """Return the arrays and root attributes in which two artefacts differ, in the order in which
    they come about.

    Args:
        below: only of groups of this part; all where empty.
    """
    with Artefact(left) as a, Artefact(right) as b:
        paths = sorted({*a.paths(), *b.paths()}, key=_order)
        wanted = [p for p in paths if not below or p.split("/")[-2] == below]
        found = [p for p in wanted if not (a.has(p) and b.has(p)) or not _same(a, b, p)]
        if not below:
            one, two = a.attributes(), b.attributes()
            found += [f"attribute {n}" for n in sorted({*one, *two}) if one.get(n) != two.get(n)]
    return found


def _same(a: Artefact, b: Artefact, path: str) -> bool:
    left, right = a.read(path), b.read(path)
    return (
        left.dtype == right.dtype
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
    )


def _order(path: str) -> tuple[int, str]:
    """Return what sorts a trained artefact's arrays: the stream, what tasks share, the stages,
    the losses.
    """
    folders = ("stream", "classes", "shared", "stages", "tasks", "loss")
    first = path.partition("/")[0]
    return (folders.index(first) if first in folders else len(folders), path)
