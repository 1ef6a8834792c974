"""All verbs, one a file, and the command line that is made of them: as far as a call needs it."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Sequence
from importlib.abc import InspectLoader
from importlib.util import find_spec
from types import CodeType
from typing import Annotated

import typer
from typer import Option

from taamctl.cli.flat_options import flat
from taamctl.cli.help_page import HelpCommand, HelpGroup

ABOUT = (
    "Graph class-incremental learning: a node classifier that keeps learning new classes on "
    "growing graphs.\n\nStages: split, precompute, train, infer, eval, report. `taamctl run` "
    "walks them all."
)
VERBS = (
    *("run", "split", "precompute", "train", "infer", "eval", "lens", "report", "plan", "predict"),
    *("audit", "compare", "stream", "reproduce", "params", "init", "inspect", "doctor"),
    *("status", "keys", "verify", "clean", "docs", "explain"),
)
GROUPS = {  # verbs with verbs of their own
    "data": "List, describe, fetch and examine data sets.",
    "methods": "List, describe and begin methods.",
    "bank": "A model that grows: create, teach, list, verify and carry around a bank of tasks.",
}


def _version(value: bool) -> None:
    if value:
        from taamctl.cli.versions_text import lines

        print("\n".join(lines()))
        raise typer.Exit


def _main(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Take the options that stand before the verb."""
    if debug:
        os.environ["TAAMCTL_DEBUG"] = "1"


def made_for(words: Sequence[str]) -> typer.Typer:
    """Return the command line as far as a call needs it: with the verb that is called alone, or
    with what each verb does where no more is asked. Importing all verbs takes longer than typer.

    Args:
        words: of the call, without the program's name.
    """
    made = typer.Typer(
        name="taamctl",
        cls=HelpGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help=ABOUT,
    )
    made.callback()(_main)
    if list(words) == ["--help"]:
        for verb in (*VERBS, *GROUPS):
            made.command(verb, help=GROUPS.get(verb) or _help_of(verb))(_nothing)
        return made
    called = [word for word in words if not word.startswith("-")][:1]
    if not {*called} & {*VERBS, *GROUPS}:
        called = [*VERBS, *GROUPS]
    for verb in called:
        _add(made, verb)
    return made


def _nothing() -> None:
    """Stand for a verb that is only listed."""


def _add(made: typer.Typer, verb: str) -> None:
    """Add a verb, or one that has verbs of its own."""
    module = importlib.import_module(_module_of(verb))
    if verb in GROUPS:
        for member in module.app.registered_commands:
            member.cls = HelpCommand
            assert member.callback is not None
            member.callback = flat(member.callback)
        made.add_typer(module.app, name=verb, cls=HelpGroup, help=GROUPS[verb])
        return
    settings = {"ignore_unknown_options": verb == "explain"}  # it explains options too
    made.command(verb, cls=HelpCommand, context_settings=settings)(flat(module.command))


def _module_of(verb: str) -> str:
    return f"taamctl.cli.verb_{verb}"


def _help_of(verb: str) -> str:
    """Return what a verb does: the docstring of its `command`, without running its module."""
    name = _module_of(verb)
    spec = find_spec(name)
    assert spec is not None
    assert isinstance(spec.loader, InspectLoader)
    code = spec.loader.get_code(name)
    assert code is not None
    parts = [each for each in code.co_consts if isinstance(each, CodeType)]
    command = next(each for each in parts if each.co_name == "command")
    return inspect.cleandoc(str(command.co_consts[0]))
