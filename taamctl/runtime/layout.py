"""Where every artefact lies: one path from (stage, dataset, method, seed), one command that
makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from taamctl.core.paths import CHECKPOINTS
from taamctl.runtime.stage_table import ROWS

OUTPUTS = Path("outputs")  # where artefacts lie by default


@dataclass(frozen=True)
class Layout:
    """The artefact tree below one outputs folder.

    Attributes:
        root: the folder.
        base: a tree whose artefacts of the stages `borrowed` are used instead of own ones: what a
            change of later parameters leaves as it is.
        made_by: the command that makes the whole tree, where it is not the stages' own verbs.
        home: the outputs folder that this tree is a part of, where it is one without a base.
    """

    root: Path
    base: Layout | None = None
    borrowed: tuple[str, ...] = ()
    made_by: str = ""
    home: Path | None = None

    def folder(self, stage: str, dataset: str, method: str = "", seed: int = -1) -> Path:
        """Return the folder of a stage's artefacts."""
        if self.base is not None and stage in self.borrowed:
            return self.base.folder(stage, dataset, method, seed)
        found = self.root / stage / dataset
        if ROWS[stage].each == "run":
            found = found / method / f"seed-{seed}"
        return found

    def files(self, stage: str, dataset: str, method: str = "", seed: int = -1) -> tuple[Path, ...]:
        """Return the artefacts of a stage, the one that carries lock and sidecar first."""
        folder = self.folder(stage, dataset, method, seed)
        return tuple(folder / name for name in ROWS[stage].files)

    def file(self, stage: str, dataset: str, method: str = "", seed: int = -1) -> Path:
        """Return a stage's main artefact."""
        return self.files(stage, dataset, method, seed)[0]

    def checkpoints(self, dataset: str, method: str, seed: int) -> Path:
        """Return the folder of an unfinished training run: outside what DVC deletes before it
        runs a stage.
        """
        return self.root / CHECKPOINTS / dataset / method / f"seed-{seed}"

    def tasks(self, dataset: str, method: str, seed: int) -> Path:
        """Return what stands for the finished tasks of a run on a cluster; its lock says that they
        are in use until they are put together.
        """
        return self.folder("train", dataset, method, seed) / "tasks"

    def command(self, stage: str, dataset: str, method: str = "", seed: int = -1) -> str:
        """Return the command line that makes an artefact."""
        if self.base is not None and stage in self.borrowed:
            return self.base.command(stage, dataset, method, seed)
        tail = ""
        if ROWS[stage].each == "run":
            tail = f" --method {method} --seed {seed}"
        where = "" if self.root == OUTPUTS else f" --outputs {self.root}"
        return self.made_by or f"taamctl {stage} --dataset {dataset}{tail}{where}"

    def inputs(
        self, stage: str, dataset: str, method: str = "", seed: int = -1
    ) -> tuple[tuple[Path, str], ...]:
        """Return the artefacts that a stage reads, each with the command that makes it."""
        which = (dataset, method, seed)
        return tuple(
            (self.file(name, *which), self.command(name, *which)) for name in ROWS[stage].reads
        )

    def name(self, path: Path) -> str:
        """Return a file's path inside the tree that holds it, `/` between its parts: the same for
        every verb, and where the tree is moved or copied.
        """
        tree: Layout | None = self
        while tree is not None:
            if path.is_relative_to(tree.root):
                return path.relative_to(tree.root).as_posix()
            tree = tree.base
        return path.as_posix()

    def trees(self) -> list[Path]:
        """Return the other trees of the same outputs folder: what one of them holds need not be
        made again for this one.
        """
        tree = self
        while tree.base is not None:
            tree = tree.base
        home = tree.home or tree.root
        known = [home, *sorted(home.glob("compare/*")), *sorted(home.glob("reproduce/runs/*"))]
        return [root for root in known if root != self.root and root.is_dir()]
