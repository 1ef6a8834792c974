"""Where every artefact lies: one path from (stage, dataset, method, seed), one command that
makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STAGES = ("split", "precompute", "train", "infer", "eval", "report")
PER_SEED = ("train", "infer", "eval")
FILES = {
    "split": ("split.h5",),
    "precompute": ("features.h5",),
    "train": ("train.h5",),
    "infer": ("infer.h5",),
    "eval": ("eval.json", "metrics.json", "curve.csv", "task_id.csv"),
}


@dataclass(frozen=True)
class Layout:
    """The artefact tree below one outputs folder.

    Attributes:
        root: the folder.
        base: a tree whose artefacts of the stages `borrowed` are used instead of own ones: what a
            change of later parameters leaves as it is.
        made_by: the command that makes the whole tree, where it is not the stages' own verbs.
    """

    root: Path
    base: Layout | None = None
    borrowed: tuple[str, ...] = ()
    made_by: str = ""

    def folder(self, stage: str, dataset: str, method: str = "", seed: int = -1) -> Path:
        """Return the folder of a stage's artefacts."""
        if self.base is not None and stage in self.borrowed:
            return self.base.folder(stage, dataset, method, seed)
        base = self.root / stage / dataset
        return base / method / f"seed-{seed}" if stage in PER_SEED else base

    def files(self, stage: str, dataset: str, method: str = "", seed: int = -1) -> tuple[Path, ...]:
        """Return the artefacts of a stage, the one that carries lock and sidecar first."""
        folder = self.folder(stage, dataset, method, seed)
        return tuple(folder / name for name in FILES[stage])

    def file(self, stage: str, dataset: str, method: str = "", seed: int = -1) -> Path:
        """Return a stage's main artefact."""
        return self.files(stage, dataset, method, seed)[0]

    def checkpoints(self, dataset: str, method: str, seed: int) -> Path:
        """Return the folder of an unfinished training run: outside what DVC deletes before it
        runs a stage.
        """
        return self.root / ".checkpoints" / dataset / method / f"seed-{seed}"

    def command(self, stage: str, dataset: str, method: str = "", seed: int = -1) -> str:
        """Return the command line that makes an artefact."""
        if self.base is not None and stage in self.borrowed:
            return self.base.command(stage, dataset, method, seed)
        tail = f" --method {method} --seed {seed}" if stage in PER_SEED else ""
        where = "" if self.root == Path("outputs") else f" --outputs {self.root}"
        return self.made_by or f"taamctl {stage} --dataset {dataset}{tail}{where}"
