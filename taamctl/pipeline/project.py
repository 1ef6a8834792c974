"""A folder to work in: its params.yaml, the DAG that DVC runs over the installed taamctl, and
what DVC needs beside it.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.emitter import Emitter
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.tokens import CommentToken

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


def dag(*, imported: bool) -> dict[str, dict[str, dict[str, object]]]:
    """Return the stages of dvc.yaml.

    Args:
        imported: the data sets are graphs of the folder's own, `data/NAME.h5`, on which split and
            precompute depend.
    """
    return {"stages": {stage: _stage(stage, imported) for stage in STAGES}}


def _stage(stage: str, imported: bool) -> dict[str, object]:
    if stage not in FILES:
        return {
            "cmd": f"taamctl {stage}",
            "deps": ["outputs/eval"],
            "params": list(PARAMS[stage]),
            "outs": [f"outputs/{stage}"],
        }
    axes = ["dataset"]
    if stage in PER_SEED:
        axes += ["method", "seed"]
    deps = [_place(before, FILES[before][0]) for before in UPSTREAM.get(stage, ())]
    if imported and stage in ("split", "precompute"):
        deps.insert(0, f"data/{_item('dataset')}.h5")
    places = {name: _place(stage, name) for name in FILES[stage]}
    out: dict[str, object] = {
        "matrix": {axis: f"${{run.{axis}s}}" for axis in axes},
        "cmd": " ".join([f"taamctl {stage}", *(f"--{axis} {_item(axis)}" for axis in axes)]),
        "deps": deps,
        "params": list(PARAMS[stage]),
        "outs": [at for name, at in places.items() if name not in METRICS and name not in PLOTS],
        "metrics": [at for name, at in places.items() if name in METRICS],
        "plots": [{at: dict(PLOTS[name])} for name, at in places.items() if name in PLOTS],
    }
    return {key: value for key, value in out.items() if value}


def _item(axis: str) -> str:
    return f"${{item.{axis}}}"


def _place(stage: str, file: str) -> str:
    folder = f"outputs/{stage}/{_item('dataset')}"
    if stage in PER_SEED:
        folder += f"/{_item('method')}/seed-{_item('seed')}"
    return f"{folder}/{file}"


def texts(tree: Mapping[str, Any], changes: Sequence[str]) -> dict[str, str]:
    """Return the files of a folder: path inside it -> text.

    Args:
        tree: the checked parameters, sections of all plug-ins of the run included.
        changes: `section.key=value` beyond it.

    Raises:
        TaamctlError: graphs of the folder's own and other data sets together.
    """
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


class _Emitter(Emitter):
    """Leave two blanks before a comment that a long value pushes to the right."""

    def write_comment(self, comment: CommentToken, pre: bool = False) -> None:
        """Write a comment at its column, or as near to it as the value lets it."""
        near = comment.start_mark.column < self.column + 2
        if near and not pre and comment.value.startswith("#"):
            self.stream.write(" ")
            self.column += 1
        super().write_comment(comment, pre)


class _Representer(RoundTripRepresenter):
    """Write null as the packaged file does."""


_Representer.add_representer(
    type(None), lambda own, _: own.represent_scalar("tag:yaml.org,2002:null", "null")
)


def params_text(wanted: Mapping[str, Any]) -> str:
    """Return the packaged params.yaml with the values of `wanted`, its comments kept and missing
    plug-in sections added.
    """
    editor = YAML()
    editor.Emitter = _Emitter
    editor.Representer = _Representer
    editor.preserve_quotes = True
    editor.width = 10_000
    tree = editor.load(PACKAGED.read_text(encoding="utf-8"))
    for kind in ("datasets", "methods"):
        for name in wanted[kind]:
            if name not in tree[kind]:
                tree[kind].insert(0, name, None)
    _update(editor, tree, wanted)
    buffer = io.StringIO()
    editor.dump(tree, buffer)
    text = buffer.getvalue()
    if yaml.safe_load(text) != wanted:
        raise RuntimeError("params.yaml was not edited as wanted")
    return text


def _update(editor: YAML, tree: CommentedMap, wanted: Mapping[str, Any]) -> None:
    """Set the values that differ, in place; a mapping with other keys is a value as a whole."""
    for key, value in wanted.items():
        old = tree[key]
        if isinstance(old, CommentedMap) and isinstance(value, dict) and old.keys() == value.keys():
            _update(editor, old, value)
        elif old != value:
            # By way of PyYAML, which reads the file later: it wants 1.0e-05, not 1e-05.
            text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
            tree[key] = editor.load(text)


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
