"""How the text of a help page is laid out: two columns where there is room, one below the other
where there is not.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence

from taamctl.cli.examples import EXAMPLES

LEFT = 30  # columns of options and verbs, where the terminal has room for two columns
NARROW = 70  # below it, what an option means stands under it
Row = tuple[str, str]


def examples(words: Sequence[str], width: int) -> list[str]:
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
    return ["\n".join(lines)] * bool(shown)


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text."""
    return [part for part in inspect.cleandoc(text or "").split("\n\n") if part]


def first(text: str | None) -> str:
    """Return the first paragraph."""
    return " ".join((paragraphs(text) or [""])[0].split())


def filled(text: str, width: int, hang: int = 0) -> str:
    """Return a text in lines of a width, all but the first moved in by `hang` columns."""
    return textwrap.fill(
        " ".join(text.split()),
        width,
        subsequent_indent=" " * hang,
        break_on_hyphens=False,
        break_long_words=False,
    )


def table(title: str, rows: Sequence[Row], width: int) -> str:
    """Return a heading with two columns below it; where there is no room, one."""
    left = min(LEFT, 4 + max((len(name) for name, _ in rows), default=0))
    lines = [filled(title, width)]
    for name, text in rows:
        room = 6 if width < NARROW else left
        body = textwrap.wrap(
            " ".join(text.split()), width - room, break_on_hyphens=False, break_long_words=False
        )
        if width >= NARROW and len(name) + 4 <= left and body:
            lines.append(f"  {name:<{left - 2}}{body.pop(0)}")
        else:
            lines.append("  " + filled(name, width - 2, hang=4).replace("\n", "\n  "))
        lines += [" " * room + line for line in body]
    return "\n".join(lines)
