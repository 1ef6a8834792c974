"""What the folder that a command runs in changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from taamctl.cli import console
from taamctl.core import registry

# key -> the usual value, that for graphs of one's own, and what the usual one does
USUAL_OF_OWN = {
    "split.odd_class": ("drop", "merge_into_last", "drop leaves out"),
    "infer.router": ("prototype", "auto", "prototype routes as published"),
}


def warn_of_other_code() -> None:
    """Warn where this folder is a checkout and the code that runs is another than its own: DVC
    would take its edits for used.
    """
    here, running = Path("taamctl"), Path(__file__).resolve().parent.parent
    if not Path("dvc.yaml").is_file() or not here.is_dir() or here.resolve() == running:
        return
    if _code_of(here) != _code_of(running):
        console.say(
            f"warning: running the code in {running}, not this checkout's; `pip install -e .` uses "
            "the checkout's"
        )


def _code_of(package: Path) -> dict[str, bytes]:
    """Return path -> content of a package's modules; those of its stages lie inside where it is
    installed, and beside it in a checkout.
    """
    files = {file.relative_to(package): file for file in package.rglob("*.py")}
    stages = package.parent / "stages"
    if stages.is_dir() and not (package / "stages").is_dir():
        files |= {file.relative_to(package.parent): file for file in stages.rglob("*.py")}
    return {path.as_posix(): file.read_bytes() for path, file in sorted(files.items())}


def set_usual_of_own(tree: dict[str, object], overrides: Sequence[str], *, quiet: bool) -> None:
    """Set what is usual for graphs of one's own, where no parameter says otherwise and all data
    sets of the run are such graphs: a class that is left over joins the last task, and validation
    chooses how tasks are told apart.

    The published data sets stay as the published experiments have them.
    """
    run = tree.get("run")
    own = registry.imported("taamctl.datasets")
    datasets = run.get("datasets") if isinstance(run, dict) else None
    if not isinstance(datasets, list) or not datasets or not all(name in own for name in datasets):
        return
    stated = {override.partition("=")[0].strip() for override in overrides}
    for key, (usual, value, meaning) in USUAL_OF_OWN.items():
        section, _, name = key.partition(".")
        values = tree.get(section)
        if not isinstance(values, dict) or stated & {key, section} or values.get(name) != usual:
            continue
        tree[section] = {**values, name: value}
        if not quiet:
            console.say(f"{key} is {value} for a graph of your own ({meaning})")


def usual_of_own(datasets: Sequence[str], chosen: Collection[str]) -> list[str]:
    """Return, as `section.key=value`, what is usual for graphs of one's own in a new folder, where
    nothing else was chosen, and say so.
    """
    own = registry.imported("taamctl.datasets")
    if not all(name in own for name in datasets):
        return []
    found = [f"{k}={value}" for k, (_, value, _) in USUAL_OF_OWN.items() if k not in chosen]
    for change in found:
        console.say(f"{', '.join(datasets)}: set {change}")
    return found
