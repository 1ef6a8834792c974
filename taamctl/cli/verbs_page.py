"""The verbs and their help pages, for the page of reference and for `taamctl explain`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import cast

import typer

from taamctl.cli import help_page
from taamctl.cli.help_words import is_option, meaning, shape
from taamctl.manual.topics import Topic, said

WIDTH = 96
Found = tuple[tuple[str, ...], typer.core.TyperCommand | typer.core.TyperGroup, typer.Context]


def verbs() -> Iterator[Found]:
    """Yield every verb: its words, its command and a context to show its help with."""
    from taamctl.cli.app import app

    root = typer.main.get_command(app)
    yield from _below((), root, None)


def _below(words: tuple[str, ...], command: object, above: typer.Context | None) -> Iterator[Found]:
    assert isinstance(command, (typer.core.TyperCommand, typer.core.TyperGroup))
    name = words[-1] if words else "taamctl"
    made = command.make_context(name, [], parent=above, resilient_parsing=True)
    context = cast("typer.Context", made)
    yield words, command, context
    for each, inner in getattr(command, "commands", {}).items():
        yield from _below((*words, each), inner, context)


def markdown() -> str:
    """Return the help page of every verb that is no group."""
    parts = []
    for words, command, context in verbs():
        if words and not isinstance(command, typer.core.TyperGroup):
            text = help_page.page(command, context, WIDTH)
            parts.append(f"## taamctl {' '.join(words)}\n\n```console\n{text}```")
    return "\n\n".join(parts)


def topics() -> Iterator[Topic]:
    """Yield the verbs and their options."""
    options: dict[str, list[tuple[str, str]]] = {}
    for words, command, _ in verbs():
        name = " ".join(words) or "taamctl"
        text = inspect.cleandoc(command.help or "")
        yield Topic((name, f"taamctl {name}"), "verb", said(text), _help_of(words))
        for param in command.params:
            if is_option(param):
                options.setdefault(shape(param), []).append((name, meaning(param)))
    for written, users in options.items():
        flag = written.split()[0].rstrip(",")
        users_of: dict[str, list[str]] = {}
        for name, text in users:
            users_of.setdefault(text, []).append(name)
        lines = [f"{text} (of {_some(names)})" for text, names in users_of.items()]
        whole = "\n\n".join([f"`{written}`", *lines])
        more = f"taamctl {users[0][0]} --help"
        yield Topic((flag, flag.lstrip("-")), "option", said(whole), more)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" * (len(names) > 4)
    return ", ".join(names[:4]) + more


def _help_of(words: tuple[str, ...]) -> str:
    return " ".join(["taamctl", *words, "--help"])
