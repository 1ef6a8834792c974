"""The help of a verb as plain text: it is read at 40 columns, without colour and through a pipe."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from typer.core import TyperCommand, TyperGroup

from taamctl.cli.examples import EXAMPLES
from taamctl.cli.help_words import is_option, meaning, shape

if TYPE_CHECKING:
    import typer

LEFT = 30  # columns of options and verbs, where the terminal has room for two columns
NARROW = 70  # below it, what an option means stands under it
Row = tuple[str, str]


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
    blocks = [_filled(usage(command, words), width, hang=4)]
    blocks += [_filled(part, width) for part in _paragraphs(command.help)]
    for title, members in _panels(params).items():
        blocks.append(_table(title, [(shape(each), meaning(each)) for each in members], width))
    if isinstance(command, TyperGroup):
        blocks.append(_table("Verbs", _verbs(command, ctx), width))
    blocks += _examples(words, width)
    return "\n\n".join(blocks) + "\n"


def _words(ctx: typer.Context) -> list[str]:
    """Return the words of the call after the program's own name, however that was started."""
    if ctx.parent is None:
        return []
    return [*_words(cast("typer.Context", ctx.parent)), str(ctx.info_name)]


def _verbs(group: TyperGroup, ctx: typer.Context) -> list[Row]:
    verbs = [(name, group.get_command(ctx, name)) for name in group.list_commands(ctx)]
    return [(name, _first(verb.help)) for name, verb in verbs if verb is not None]


def _examples(words: Sequence[str], width: int) -> list[str]:
    """Return the examples as one block; a line that is too long goes on in the next, as the shell
    takes it.
    """
    shown = EXAMPLES.get(" ".join(words), ())
    lines = ["Example" + "s" * (len(shown) > 1)]
    for each in shown:
        parts = textwrap.wrap(
            each, width - 6, break_on_hyphens=False, break_long_words=False, subsequent_indent="  "
        )
        lines += [f"  {part}" for part in " \\\n".join(parts).split("\n")]
    return ["\n".join(lines)] if shown else []


def usage(command: TyperCommand | TyperGroup, words: Sequence[str]) -> str:
    """Return how the verb is called, in one line."""
    line = ["usage: taamctl", *words]
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


def _paragraphs(text: str | None) -> list[str]:
    return [part for part in inspect.cleandoc(text or "").split("\n\n") if part]


def _first(text: str | None) -> str:
    """Return the first paragraph."""
    return " ".join((_paragraphs(text) or [""])[0].split())


def _filled(text: str, width: int, hang: int = 0) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        width,
        subsequent_indent=" " * hang,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _table(title: str, rows: Sequence[Row], width: int) -> str:
    """Return a heading with two columns below it; where there is no room, one."""
    left = min(LEFT, 4 + max((len(name) for name, _ in rows), default=0))
    lines = [title]
    for name, text in rows:
        room = 6 if width < NARROW else left
        body = textwrap.wrap(
            " ".join(text.split()), width - room, break_on_hyphens=False, break_long_words=False
        )
        if width >= NARROW and len(name) + 4 <= left and body:
            lines.append(f"  {name:<{left - 2}}{body.pop(0)}")
        else:
            lines.append(f"  {name}")
        lines += [" " * room + line for line in body]
    return "\n".join(lines)
