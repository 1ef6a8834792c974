"""A folder to work in: its params.yaml, the DAG that DVC runs over the installed taamctl, and
what DVC needs beside it.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.emitter import Emitter
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.tokens import CommentToken

from taamctl.core.errors import TaamctlError
from taamctl.params.params_file import PACKAGED, set_value
from taamctl.pipeline import dag
from taamctl.store import atomic_files

HERE = Path(__file__).parent / "folder"  # the texts that every folder gets
FILES = {
    ".dvcignore": "dvcignore",
    ".dvc/config": "dvc_config",
    ".dvc/.gitignore": "dvc_gitignore",  # as `dvc init` has it: config.local may hold passwords
    ".gitignore": "gitignore",
}


def texts(tree: Mapping[str, Any], changes: Sequence[str]) -> dict[str, str]:
    """Return the files of a folder: path inside it -> text.

    Args:
        tree: the checked parameters, sections of all plug-ins of the run included.
        changes: `section.key=value` beyond it.
    """
    wanted = copy.deepcopy(dict(tree))
    for change in changes:
        set_value(wanted, change)
    found = {name: (HERE / file).read_text(encoding="utf-8") for name, file in FILES.items()}
    return {"params.yaml": params_text(wanted), "dvc.yaml": dag.text(), **found}


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


def _editor() -> YAML:
    editor = YAML()
    editor.Emitter = _Emitter
    editor.Representer = _Representer
    editor.preserve_quotes = True
    editor.width = 10_000
    return editor


def _dumped(tree: CommentedMap) -> str:
    buffer = io.StringIO()
    _editor().dump(tree, buffer)
    return buffer.getvalue()


def params_text(wanted: Mapping[str, Any]) -> str:
    """Return the packaged params.yaml with the values of `wanted`, its comments kept and missing
    plug-in sections added.
    """
    editor = _editor()
    tree = editor.load(PACKAGED.read_text(encoding="utf-8"))
    for kind in ("datasets", "methods"):
        for name in wanted[kind]:
            if name not in tree[kind]:
                tree[kind].insert(0, name, None)
    _update(editor, tree, wanted)
    text = _dumped(tree)
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
    parents = (folder, folder / ".dvc")
    there = [path for path in paths if path.exists() or path.is_symlink()]
    _require_room(parents, there, overwrite)
    before = {path: path.read_bytes() for path in there if path.is_file()}
    missing = [path for path in reversed(parents) if not path.exists()]
    try:
        with ExitStack() as stack:
            for path, text in paths.items():
                stack.enter_context(atomic_files.atomic(path)).write_text(
                    text, encoding="utf-8", newline="\n"
                )
    except BaseException:
        _restore(paths, before, missing)
        raise
    return list(paths)


def _require_room(parents: Sequence[Path], there: Sequence[Path], overwrite: bool) -> None:
    """Refuse files that are there, and what stands in the way of files and folders."""
    if there and not overwrite:
        raise TaamctlError(
            f"{', '.join(map(str, there))}: there already",
            "name another folder, or pass --force to overwrite",
        )
    blocked = [path for path in parents if path.exists() and not path.is_dir()]
    blocked += [path for path in there if path.is_dir()]
    if blocked:
        raise TaamctlError(f"{blocked[0]} is in the way", "name another folder")


def _restore(paths: Iterable[Path], before: Mapping[Path, bytes], missing: Iterable[Path]) -> None:
    """Put back what was there, as far as the disk lets it."""
    for path in paths:
        with suppress(OSError):
            if path in before:
                path.write_bytes(before[path])
            else:
                path.unlink(missing_ok=True)
    for folder in missing:
        with suppress(OSError):
            folder.rmdir()
