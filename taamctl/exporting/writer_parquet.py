"""A graph as two Parquet tables: its nodes with their features, and its edges."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.exporting import feature_text
from taamctl.exporting.node_tables import ends_of, node_tables
from taamctl.exporting.text_columns import TextColumns
from taamctl.exporting.whole import Plan, Whole


def plan(whole: Whole) -> Plan:
    """Return how to write NAME_nodes.parquet and NAME_edges.parquet.

    Raises:
        TaamctlError: no edges, or pyarrow is missing.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise TaamctlError(
            f"writing {whole.name} as Parquet needs the package pyarrow, which is missing",
            "pip install 'taamctl[parquet]', or export with --format csv",
        ) from error
    columns = node_tables(whole, "Parquet")
    ends = (columns.options.source, columns.options.target)
    return Plan(
        {
            "_nodes.parquet": lambda path: _write(path, _nodes(whole, columns)),
            "_edges.parquet": lambda path: _write(
                path, dict(zip(ends, ends_of(whole), strict=True))
            ),
            **columns.files(),
        },
        columns.options,
        columns.notes,
        columns.tables(),
    )


def _nodes(whole: Whole, columns: TextColumns) -> dict[str, Plain]:
    """Return the columns of the nodes; a number or a word that is not known is null."""
    found: dict[str, Plain] = {name: _known(cells) for name, cells in columns.cells.items()}
    if whole.time is not None:
        found[columns.options.time] = whole.time
    features = feature_text.columns(whole.features, range(len(columns.features)))
    return {**found, **dict(zip(columns.features, features, strict=True))}


def _known(cells: list[str]) -> list[str | None]:
    return [cell or None for cell in cells]


def _write(path: Path, columns: dict[str, Plain]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    arrays = {
        name: pa.array(values, pa.string()) if isinstance(values, list) else pa.array(values)
        for name, values in columns.items()
    }
    pyarrow.parquet.write_table(pa.table(arrays), path)
