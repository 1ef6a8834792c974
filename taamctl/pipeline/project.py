"""A folder to work in: its params.yaml, the DAG that DVC runs over the installed taamctl, and
what DVC needs beside it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.params.params_file import PACKAGED, set_value
from taamctl.runtime.layout import FILES, PER_SEED, STAGES
from taamctl.store import atomic_files

DATASETS = "taamctl.datasets"
HEAD = """\
# The DAG: split -> precompute -> train -> infer -> eval -> report, over run.datasets x run.methods
# x run.seeds of params.yaml. A changed parameter or graph reruns what is downstream of it and
# nothing else. taamctl itself is installed, so it is no dependency here: after installing another
# version, `dvc repro --force` makes everything again.

"""
UPSTREAM: dict[str, tuple[str, ...]] = {
    "precompute": ("split",),
    "train": ("precompute",),
    "infer": ("precompute", "train"),
    "eval": ("split", "infer"),
}
PARAMS: dict[str, tuple[str, ...]] = {
    "split": ("split", "datasets.${item.dataset}"),
    "precompute": ("precompute", "datasets.${item.dataset}"),
    "train": ("train", "methods.${item.method}"),
    "infer": ("infer",),
    "eval": ("eval",),
    "report": ("report", "run"),
}
METRICS = ("metrics.json",)
PLOTS = {
    "curve.csv": {
        "template": "linear",
        "x": "stage",
        "y": "aa",
        "title": "average accuracy after each task",
    },
    "task_id.csv": {
        "template": "confusion",
        "x": "decision",
        "y": "task",
        "title": "task-ID decisions after the last task",
    },
}
IGNORED_BY_DVC = """\
# A folder that is a dependency must not change by being used.
__pycache__/
*.py[cod]
# Sidecars hold times and hosts; locks and temporary files come and go.
*.provenance.json
.*.lock
.*.tmp
.checkpoints/
# Drawn from the sidecars' seconds.
accuracy-time-*
"""
CONFIG = """\
[core]
    no_scm = true
    analytics = false
    check_update = false
[cache]
    type = "reflink,hardlink,copy"
"""
IGNORED_BY_GIT = """\
/outputs/
/.dvc/cache/
/.dvc/tmp/
/dvc_plots/
"""


IGNORED_IN_DVC = """\
/config.local
/tmp
/cache
"""  # as `dvc init` has it: config.local may hold passwords


def dag(*, imported: bool) -> dict[str, Any]:
    """Return the stages of dvc.yaml.

    Args:
        imported: the data sets are graphs of the folder's own, `data/NAME.h5`, on which split and
            precompute depend.
    """
    return {"stages": {stage: _stage(stage, imported) for stage in STAGES}}


def _stage(stage: str, imported: bool) -> dict[str, Any]:
    grid = {"dataset": "${run.datasets}", "method": "${run.methods}", "seed": "${run.seeds}"}
    axes = list(grid)[: 3 if stage in PER_SEED else 1]
    if stage not in FILES:
        return {
            "cmd": f"taamctl {stage}",
            "deps": ["outputs/eval"],
            "params": list(PARAMS[stage]),
            "outs": [f"outputs/{stage}"],
        }
    own = [f"data/{_item('dataset')}.h5"] if imported and stage in ("split", "precompute") else []
    deps = [
        *own,
        *(_place(before, name) for before in UPSTREAM.get(stage, ()) for name in FILES[before][:1]),
    ]
    out: dict[str, Any] = {
        "matrix": {axis: grid[axis] for axis in axes},
        "cmd": " ".join([f"taamctl {stage}", *(f"--{axis} {_item(axis)}" for axis in axes)]),
    }
    if deps:
        out["deps"] = deps
    out |= {
        "params": list(PARAMS[stage]),
        "outs": [_place(stage, f) for f in FILES[stage] if f not in METRICS and f not in PLOTS],
    }
    if stage == "eval":
        out |= {
            "metrics": [_place(stage, f) for f in METRICS],
            "plots": [{_place(stage, f): dict(PLOTS[f])} for f in PLOTS],
        }
    return out


def _item(axis: str) -> str:
    return f"${{item.{axis}}}"


def _place(stage: str, file: str) -> str:
    per_run = f"/{_item('method')}/seed-{_item('seed')}" if stage in PER_SEED else ""
    return f"outputs/{stage}/{_item('dataset')}{per_run}/{file}"


def texts(tree: Mapping[str, Any], changes: Sequence[str]) -> dict[str, str]:
    """Return the files of a folder: path inside it -> text.

    Args:
        tree: the checked parameters, sections of all plug-ins of the run included.
        changes: `section.key=value` beyond it.

    Raises:
        TaamctlError: graphs of the folder's own and other data sets together.
    """
    import yaml

    wanted = copy.deepcopy(dict(tree))
    for change in changes:
        set_value(wanted, change)
    own = registry.imported(DATASETS)
    kinds = {name in own for name in wanted["run"]["datasets"]}
    if len(kinds) > 1:
        raise TaamctlError(
            f"{', '.join(wanted['run']['datasets'])}: graphs in data/ and other data sets in one "
            "folder",
            "make one folder for each kind: DVC has to know which files split reads",
        )
    dumped = yaml.safe_dump(dag(imported=True in kinds), sort_keys=False, width=200)
    return {
        "params.yaml": params_text(wanted),
        "dvc.yaml": HEAD + dumped,
        ".dvcignore": IGNORED_BY_DVC,
        ".dvc/config": CONFIG,
        ".dvc/.gitignore": IGNORED_IN_DVC,
        ".gitignore": IGNORED_BY_GIT,
    }


def params_text(wanted: Mapping[str, Any]) -> str:
    """Return the packaged params.yaml with the values of `wanted`, its comments kept and missing
    plug-in sections added.
    """
    import yaml

    text = PACKAGED.read_text(encoding="utf-8")
    have = yaml.safe_load(text)
    for kind in ("datasets", "methods"):
        for name in wanted[kind]:
            if name not in have[kind]:
                head = re.compile(rf"^({kind}:.*)$", flags=re.MULTILINE)
                text = head.sub(rf"\1\n  {name}: {{}}", text, count=1)
                have[kind][name] = {}
    for path, value in _differences(have, wanted):
        text = _set_line(text, path, value)
    if yaml.safe_load(text) != wanted:
        raise RuntimeError("params.yaml was not edited as wanted")
    return text


def _differences(
    have: Mapping[str, Any], wanted: Mapping[str, Any], path: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], Any]]:
    """Return the paths whose values differ, with the wanted value; sections are gone into,
    values that are mappings are not.
    """
    inside = not path or path in (("datasets",), ("methods",))
    out: list[tuple[tuple[str, ...], Any]] = []
    for key, value in wanted.items():
        old = have[key]
        if (
            inside
            and isinstance(value, Mapping)
            and isinstance(old, Mapping)
            and set(value) == set(old)
        ):
            out += _differences(old, value, (*path, key))
        elif old != value:
            out.append(((*path, key), value))
    return out


def _set_line(text: str, path: tuple[str, ...], value: Any) -> str:
    """Replace the value of one key, which stands on a line of its own; its comment stays where
    it is.
    """
    import yaml

    shown = (
        yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
        .strip()
        .removesuffix("...")
        .strip()
    )
    lines, at = text.split("\n"), list[str]()
    for number, line in enumerate(lines):
        found = re.match(r"( *)([A-Za-z_][\w]*):(.*)$", line)
        if found is None:
            continue
        depth = len(found[1]) // 2
        at[depth:] = [found[2]]
        if tuple(at) == path:
            old, hash_, comment = found[3].partition("  #")
            start = f"{found[1]}{found[2]}: {shown}"
            column = len(found[1]) + len(found[2]) + 1 + len(old) + 2
            lines[number] = f"{start:<{column - 2}}  #{comment}" if hash_ else start
            return "\n".join(lines)
        if tuple(at) == path[:-1] and found[3].strip().startswith("{"):
            break
    raise RuntimeError(f"params.yaml has no line for {'.'.join(path)}")


def write(folder: Path, files: Mapping[str, str], *, overwrite: bool = False) -> list[Path]:
    """Write all files or none, and return their paths.

    Raises:
        TaamctlError: one is there already and `overwrite` is off; or the folder cannot be written.
    """
    paths = {folder / name: text for name, text in files.items()}
    there = [path for path in paths if path.exists() or path.is_symlink()]
    if there and not overwrite:
        raise TaamctlError(
            f"{', '.join(map(str, there))}: there already",
            "name another folder, or pass --force to overwrite",
        )
    if blocked := [p for p in (folder, folder / ".dvc") if p.exists() and not p.is_dir()] + [
        p for p in there if p.is_dir()
    ]:
        raise TaamctlError(f"{blocked[0]} is in the way", "name another folder")
    before = {path: path.read_bytes() if path.is_file() else None for path in paths}
    fresh = [p for p in (folder / ".dvc", folder) if not p.exists()]
    try:
        with ExitStack() as stack:
            for path, text in paths.items():
                stack.enter_context(atomic_files.atomic(path)).write_text(text, encoding="utf-8")
    except BaseException:
        for path, old in before.items():
            with suppress(OSError):
                path.unlink(missing_ok=True) if old is None else path.write_bytes(old)
        for made in fresh:
            with suppress(OSError):
                made.rmdir()
        raise
    return list(paths)
