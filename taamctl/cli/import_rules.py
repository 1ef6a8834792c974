"""Options on what is done where the files of a graph leave a doubt, and on what is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Option

from taamctl.core.errors import TaamctlError

PANEL = "Where the files leave a doubt"


@dataclass(frozen=True)
class Rules:
    """What is done where the files leave a doubt."""

    unlabelled: Annotated[
        list[str] | None,
        Option(
            "--unlabelled",
            metavar="WORD",
            help="A label that means none; given once or more, no other word does. "
            "Default: -1, ?, NA, N/A, none, null, unknown, unlabelled, unlabeled.",
            rich_help_panel=PANEL,
        ),
    ] = None
    class_word: Annotated[
        list[str] | None,
        Option(
            "--class-word",
            metavar="WORD",
            help="Such a word that is a class all the same.",
            rich_help_panel=PANEL,
        ),
    ] = None
    bad_edges: Annotated[
        str,
        Option(
            "--bad-edges",
            help="refuse edges to nodes that are not in the file, or with an empty end, or drop "
            "them.",
            rich_help_panel=PANEL,
        ),
    ] = "refuse"
    bad_rows: Annotated[
        str,
        Option(
            "--bad-rows",
            help="refuse empty rows of the node table, or drop them.",
            rich_help_panel=PANEL,
        ),
    ] = "refuse"

    def named(self) -> dict[str, object]:
        """Return the fields of `ImportOptions`.

        Raises:
            TaamctlError: a value that is none of those there are.
        """
        if self.bad_edges not in ("refuse", "drop"):
            raise TaamctlError(
                f"--bad-edges {self.bad_edges}: neither refuse nor drop",
                "drop leaves out edges to nodes that are not in the file, and says how many",
            )
        if self.bad_rows not in ("refuse", "drop"):
            raise TaamctlError(
                f"--bad-rows {self.bad_rows}: neither refuse nor drop",
                "drop leaves out rows of the node table all of whose cells are empty",
            )
        return {
            "unlabelled": tuple(self.unlabelled or ()),
            "class_word": tuple(self.class_word or ()),
            "bad_edges": self.bad_edges,
            "bad_rows": self.bad_rows,
        }


@dataclass(frozen=True)
class Telling:
    """What is told, and whether anything is written."""

    dry_run: Annotated[
        bool, Option("--dry-run", help="Say how the files are read, and write nothing.")
    ] = False
    print_command: Annotated[
        bool,
        Option(
            "--print-command",
            help="Print the command that leaves nothing to guess instead of writing.",
        ),
    ] = False
    ask: Annotated[
        bool,
        Option(
            "--ask", help="On a terminal: ask where the files can be read in two ways, and go on."
        ),
    ] = False
    verbose: Annotated[bool, Option("--verbose", help="Name every feature.")] = False


@dataclass(frozen=True)
class About:
    """What `taamctl data info` shows of a graph."""

    licence: Annotated[str, Option("--licence", help="Shown by data info.")] = ""
    citation: Annotated[str, Option("--citation", help="Shown by data info.")] = ""
    homepage: Annotated[str, Option("--homepage", help="Shown by data info.")] = ""
