"""Finished tasks of an unfinished training run, one file each, tied to what they were made from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.paths import CHECKPOINTS
from taamctl.core.plain_values import canonical_json
from taamctl.core.types import Array
from taamctl.store.artefact_writer import Writer, create
from taamctl.store.artefacts import Artefact
from taamctl.store.train_kind import CHECKPOINT

State = Mapping[str, Array]


class FileCheckpoints:
    """Keep states below a folder; a state made from other parameters, inputs or code is not
    seen.
    """

    def __init__(self, folder: Path, key: Callable[[], object]) -> None:
        self._folder = folder
        self._make_key = key  # reads input files, so not before they are known to be there

    @cached_property
    def _key(self) -> str:
        return hashlib.sha256(canonical_json(self._make_key()).encode()).hexdigest()

    def _file(self, stage: int) -> Path:
        return self._folder / f"task-{stage:03d}.h5"

    def load(self, stage: int) -> tuple[State, State, Array] | None:
        """Return (state, training state, losses) of a finished stage, or None where it is
        missing, damaged or of another run.
        """
        try:
            with Artefact(self._file(stage), CHECKPOINT) as saved:
                if saved.attribute("key") != self._key:
                    return None
                parts: dict[str, dict[str, Array]] = {"state": {}, "training": {}}
                for path in saved.paths():
                    kind, _, name = path.partition("/")
                    if kind in parts:
                        parts[kind][name] = saved.read(path)
                return parts["state"], parts["training"], saved.read("loss")
        except TaamctlError:
            return None

    def require(self, stage: int) -> tuple[State, Array]:
        """Return (state, losses) of a stage that has been trained.

        Raises:
            TaamctlError: it cannot be read back.
        """
        saved = self.load(stage)
        if saved is None:
            raise TaamctlError(
                f"{self._file(stage)} was damaged after it was written",
                "run the same command again: it trains that task anew",
            )
        return saved[0], saved[2]

    def save(self, stage: int, state: State, training: State, losses: Array) -> None:
        """Keep a finished stage, whole or not at all."""

        def fill(writer: Writer) -> None:
            writer.attribute("key", self._key)
            writer.put("loss", losses)
            for kind, arrays in (("state", state), ("training", training)):
                for name, array in arrays.items():
                    writer.put(f"{kind}/{name}", np.asarray(array))

        create(self._file(stage), CHECKPOINT, {}, fill)

    def remove(self) -> None:
        """Delete what this run kept, and what is unreadable; another run's finished tasks stay
        for it.
        """
        if self._folder.is_dir():
            for file in sorted(self._folder.iterdir()):
                if self._key_in(file) in (None, self._key):
                    file.unlink(missing_ok=True)
        with suppress(OSError):  # one that is not empty is another run's
            for folder in self._folders():
                folder.rmdir()

    def _folders(self) -> list[Path]:
        """Return the folder, and those above it that hold nothing but such folders."""
        every = [self._folder, *self._folder.parents]
        names = [folder.name for folder in every]
        return every[: names.index(CHECKPOINTS) + 1] if CHECKPOINTS in names else every[:1]

    @staticmethod
    def _key_in(file: Path) -> str | None:
        try:
            with Artefact(file, CHECKPOINT) as saved:
                return str(saved.attribute("key"))
        except TaamctlError:
            return None
