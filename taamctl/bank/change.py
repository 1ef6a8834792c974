"""Take a task out of a bank, or go back to an earlier generation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from taamctl.bank import honest_fit, router, store, task_file
from taamctl.bank import manifest as manifests
from taamctl.bank.config import Config, from_plain
from taamctl.bank.manifest import Entry, Manifest
from taamctl.core import subnormals
from taamctl.core.errors import TaamctlError
from taamctl.learning.contract import device as devices
from taamctl.runtime import provenance


@subnormals.flushed()
def remove(
    folder: Path,
    number: int,
    *,
    purge: bool = False,
    wait: bool = True,
    tell: store.Tell = lambda line: None,
) -> Manifest:
    """Make a generation without one task; its file stays for going back unless `purge`.

    Raises:
        TaamctlError: there is no such task.
    """
    with store.changing(folder, wait=wait, tell=tell) as now:
        gone = store.find(now, number)
        store.require(folder, now)
        left = tuple(t for t in now.tasks if t is not gone)
        config, stamp = from_plain(now.config, str(folder / manifests.NAME)), None
        _require_apart(config, number, left)
        if left:
            devices.pin(devices.resolve("cpu"), config.train.threads)
            tasks = [task_file.read_task(folder / t.file, config.bank.router) for t in left]
            solved = router.solve(
                [t.sums for t in tasks], [t.classes for t in tasks], config.bank.router
            )
            assert now.shared is not None
            shared = task_file.read_shared(folder / now.shared[0], config)
            solved = replace(solved, honest=honest_fit.fitted(tasks, solved, shared, config))
            file = f"router-{now.generation + 1:04d}.h5"
            task_file.write_router(folder / file, solved, {"bank": now.config})
            stamp = store.stamp(folder, file)
        made = store.commit(
            folder, now, replace(now, action=f"removed task {number}", tasks=left, router=stamp)
        )
        if purge:
            (folder / gone.file).unlink(missing_ok=True)
        return made


def _require_apart(config: Config, number: int, left: tuple[Entry, ...]) -> None:
    """Refuse to take a task away whose nodes rows of other tasks have seen."""
    if config.bank.edges == "all" and left:
        raise TaamctlError(
            f"rows of the other tasks have seen nodes of task {number} (bank.edges is all), so "
            "taking its file away would leave a part of it in their sums",
            "go back to a generation without it: taamctl bank rollback; or teach a new bank that "
            "never saw it",
        )


def rollback(
    folder: Path, to: int | None = None, *, wait: bool = True, tell: store.Tell = lambda line: None
) -> Manifest:
    """Make a generation that says what an earlier one said (the one before, where `to` is None).

    Raises:
        TaamctlError: there is no such generation, or a file that it lists is gone.
    """
    with store.changing(folder, wait=wait, tell=tell) as now:
        target = now.generation - 1 if to is None else to
        earlier = [g for g in store.history(folder) if g < now.generation]
        if target not in earlier:
            raise TaamctlError(
                f"the bank has no earlier generation {target}",
                f"there are: {', '.join(map(str, earlier)) or 'none'}",
            )
        old = manifests.read(manifests.copy_of(folder, target))
        for file, digest in old.files.items():
            if not (folder / file).is_file() or provenance.sha256(folder / file) != digest:
                raise TaamctlError(
                    f"generation {target} needs {folder / file}, which is gone or damaged",
                    "a purged task cannot come back; learn it again with: taamctl bank add-task",
                )
        back = replace(old, action=f"back to generation {target}", gone=now.gone)
        return store.commit(folder, now, back)
