"""Options on the files of a graph that is brought in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.core.errors import TaamctlError
from taamctl.importing.options import listed

if TYPE_CHECKING:
    from typer.models import OptionInfo

PANEL = "Columns, attributes or keys; what is not named is guessed"


def _column(flag: str, what: str) -> OptionInfo:
    option: OptionInfo = Option(flag, metavar="COLUMN", help=what, rich_help_panel=PANEL)
    return option


@dataclass(frozen=True)
class Columns:
    """Which column, attribute or key of the files means what."""

    id: Annotated[str, _column("--id", "Names of the nodes.")] = ""
    label: Annotated[str, _column("--label", "Classes.")] = ""
    features: Annotated[
        list[str] | None,
        _column("--features", "Features: commas, patterns such as word_*. Default: all others."),
    ] = None
    ignore: Annotated[
        list[str] | None, _column("--ignore", "What is not read: commas, patterns.")
    ] = None
    source: Annotated[str, _column("--source", "Where an edge begins.")] = ""
    target: Annotated[str, _column("--target", "Where an edge ends.")] = ""
    time: Annotated[str, _column("--time", "When a node appeared: numbers or ISO dates.")] = ""
    part: Annotated[str, _column("--part", "train, val or test.")] = ""
    split_column: Annotated[str, _column("--split-column", "Of several: train_mask:3.")] = ""
    task: Annotated[str, _column("--task", "The task that a node's class arrives with.")] = ""
    table: Annotated[list[str] | None, _column("--table", "Data base: nodes=A, edges=B.")] = None

    def named(self) -> dict[str, object]:
        """Return the fields of `ImportOptions`."""
        lists = {"features": listed(self.features), "ignore": listed(self.ignore)}
        lists["table"] = tuple(self.table or ())
        return {**vars(self), **lists}


@dataclass(frozen=True)
class Reading:
    """How the files are read."""

    delimiter: Annotated[
        str, Option("--delimiter", help="What stands between cells. Default: guessed.")
    ] = ""
    decimal: Annotated[str, Option("--decimal", help="A comma, where decimals follow one.")] = ""
    header: Annotated[
        str, Option("--header", help="yes or no: names in the first row of the node table.")
    ] = ""
    edge_header: Annotated[str, Option("--edge-header", help="The same of the edge list.")] = ""
    ends: Annotated[
        str, Option("--ends", help="What edges join: rows (numbers from 0) or ids. Else guessed.")
    ] = ""
    nan: Annotated[str, Option("--nan", help="refuse what is not finite, or take it as zero.")] = (
        "refuse"
    )
    directed: Annotated[
        bool,
        Option("--directed", help="The edges have a direction that split.symmetrize may keep."),
    ] = False
    add_inverse: Annotated[
        bool, Option("--add-inverse", help="ogb: every edge counts backwards too.")
    ] = False

    def check(self) -> None:
        """Refuse what is not one of the values there are."""
        if self.nan not in ("refuse", "zero"):
            raise TaamctlError(
                f"--nan {self.nan}: neither refuse nor zero",
                "zero takes features that are not finite as 0",
            )
        if self.ends not in ("", "rows", "ids"):
            raise TaamctlError(
                f"--ends {self.ends}: neither rows nor ids",
                "rows: edges count the rows from 0; ids: they name nodes",
            )
