"""What the folder that a command runs in changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taamctl.cli import console
from taamctl.core import registry

ODD_CLASS = "split.odd_class"


def warn_of_other_code() -> None:
    """Warn where this folder is a checkout and the code that runs is not its own: DVC would take
    its edits for used.
    """
    here, running = Path("taamctl"), Path(__file__).resolve().parent.parent
    if Path("dvc.yaml").is_file() and here.is_dir() and here.resolve() != running:
        console.say(
            f"warning: running the code in {running}, not this checkout's; `pip install -e .` uses "
            "the checkout's"
        )


def join_odd_classes(tree: dict[str, object], overrides: Sequence[str], *, quiet: bool) -> None:
    """Let a class that is left over join the last task, where no parameter says otherwise and all
    data sets of the run are graphs of this folder's own: no class of theirs is left out unasked.

    The published data sets leave it out, as the published experiments do.
    """
    run, split = tree.get("run"), tree.get("split")
    if not isinstance(run, dict) or not isinstance(split, dict):
        return
    datasets, own = run.get("datasets"), registry.imported("taamctl.datasets")
    stated = {override.partition("=")[0].strip() for override in overrides}
    if not isinstance(datasets, list) or not datasets or stated & {ODD_CLASS, "split"}:
        return
    if split.get("odd_class") != "drop" or not all(name in own for name in datasets):
        return
    tree["split"] = {**split, "odd_class": "merge_into_last"}
    if not quiet:
        console.say(f"{ODD_CLASS} is merge_into_last for a graph of your own (drop leaves out)")
