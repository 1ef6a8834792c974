"""The help of a verb as plain text: it is read at 40 columns, without colour and through a pipe."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from typer.core import TyperCommand, TyperGroup

from taamctl.cli.help_layout import Row, examples, filled, first, paragraphs, table
from taamctl.cli.help_words import is_option, meaning, shape

if TYPE_CHECKING:
    import typer


class HelpCommand(TyperCommand):
    """A verb with a help page of ours."""

    def format_help(self, ctx: typer.Context, formatter: object) -> None:  # type: ignore[override]
        """Write the page."""
        print(page(self, ctx), end="")


class HelpGroup(TyperGroup):
    """A verb that has verbs of its own."""

    def format_help(self, ctx: typer.Context, formatter: object) -> None:  # type: ignore[override]
        """Write the page."""
        print(page(self, ctx), end="")


def page(command: TyperCommand | TyperGroup, ctx: typer.Context, width: int = 0) -> str:
    """Return the whole page: usage, what the verb does, what it takes, and an example.

    Args:
        width: columns; 0: as many as the terminal has.
    """
    width = width or shutil.get_terminal_size().columns
    words = _words(ctx)
    params = [each for each in command.get_params(ctx) if not getattr(each, "hidden", False)]
    blocks = [filled(usage(command, words), width, hang=4)]
    blocks += [filled(part, width) for part in paragraphs(command.help)]
    for title, members in _panels(params).items():
        blocks.append(table(title, [(shape(each), meaning(each)) for each in members], width))
    if isinstance(command, TyperGroup):
        blocks.append(table("Verbs", _verbs(command, ctx), width))
    blocks += examples(words, width)
    return "\n\n".join(blocks) + "\n"


def _words(ctx: typer.Context) -> list[str]:
    """Return the words of the call after the program's own name, however that was started."""
    if ctx.parent is None:
        return []
    return [*_words(cast("typer.Context", ctx.parent)), str(ctx.info_name)]


def _verbs(group: TyperGroup, ctx: typer.Context) -> list[Row]:
    verbs = [(name, group.get_command(ctx, name)) for name in group.list_commands(ctx)]
    return [(name, first(verb.help)) for name, verb in verbs if verb is not None]


def usage(command: TyperCommand | TyperGroup, words: Sequence[str]) -> str:
    """Return how the verb is called, in one line."""
    line = ["Usage: taamctl", *words]
    for param in sorted(command.params, key=is_option):  # arguments first
        if param.required:
            line.append(shape(param))
        elif not is_option(param):
            line.append(f"[{shape(param)}]")
    if isinstance(command, TyperGroup):
        line.append("VERB")
    return " ".join([*line, "[options]"])


def _panels(params: Iterable[object]) -> dict[str, list[object]]:
    """Return the parameters by the heading that they stand under."""
    found: dict[str, list[object]] = {}
    for param in params:
        usual = "Options" if is_option(param) else "Arguments"
        title = getattr(param, "rich_help_panel", None) or usual
        found.setdefault(str(title), []).append(param)
    return dict(sorted(found.items(), key=lambda item: item[0] != "Arguments"))
