"""Write a bank's manifest anew in the present version, with every parameter that there is now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from taamctl.bank import config, store
from taamctl.bank import manifest as manifests
from taamctl.bank.manifest import Manifest
from taamctl.core.plain_values import Plain


def upgrade(
    folder: Path, *, wait: bool = True, tell: store.Tell = lambda line: None
) -> tuple[Manifest, list[str]]:
    """Make a generation that says the same in the present version; return the bank's generation,
    and what changed: nothing where it was so already.

    Parameters that the bank lacks are recorded with what they meant when it was made; those that
    this taamctl does not know stay. No file of a task is touched, and earlier generations stay as
    they are: they can be read without.

    Raises:
        TaamctlError: no bank, one of a newer version, or one whose parameters cannot be read.
    """
    with store.changing(folder, wait=wait, tell=tell) as now:
        config.from_plain(now.config, str(folder / manifests.NAME))  # refused here or never
        filled = config.completed(now.config)
        changes = [
            f"parameter {name} recorded: {value}" for name, value in _added(now.config, filled)
        ]
        if now.format < manifests.FORMAT:
            changes.insert(0, f"manifest: format {now.format} to {manifests.FORMAT}")
        if not changes:
            return now, []
        store.require(folder, now)
        action = f"upgraded to format {manifests.FORMAT}"
        return store.commit(folder, now, replace(now, action=action, config=filled)), changes


def _added(
    before: Mapping[str, Plain], after: Mapping[str, Plain], where: str = ""
) -> list[tuple[str, Plain]]:
    """Return (name, value) of everything in `after` that `before` lacks, sections entered."""
    found: list[tuple[str, Plain]] = []
    for name, value in after.items():
        if isinstance(value, Mapping) and isinstance(before.get(name), Mapping):
            found += _added(before[name], value, f"{where}{name}.")
        elif name not in before:
            found.append((f"{where}{name}", value))
    return found
