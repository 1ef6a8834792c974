"""MUSAE's three files: features as JSON or as a table of node, feature and value, an edge list,
and a table of the nodes' targets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.importing import feature_lists, reader_tables, roles
from taamctl.importing.column_names import LABEL, guess
from taamctl.importing.folder_format import unpacked
from taamctl.importing.held_table import unzipped_suffix
from taamctl.importing.messages import quoted, shown
from taamctl.importing.node_ids import id_text
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import Table
from taamctl.importing.ways import Unclear

TARGETS = ("mltarget", "pagetype", *LABEL)  # names of classes, best first, as `plain` spells them
SUFFIXES = (".json", ".csv", ".tsv")
_FEATURES = re.compile("feature", re.IGNORECASE)


class Files(NamedTuple):
    """The three files."""

    features: Path
    nodes: Path
    edges: Path


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the three files say; in JSON a node has a feature, or it has not.

    Args:
        paths: the three files in any order, or a folder that holds them.

    Raises:
        TaamctlError: not these three; features of other nodes than the table has, or that are no
            numbers of features.
    """
    files = _files(paths, options)
    of = feature_lists.read(files.features)
    table = reader_tables.node_table(files.nodes, options, features=False)
    key = options.id or _id_column(table, of, files)
    label = options.label or guess([n for n in table.columns if n != key], TARGETS)
    raw = roles.nodes(table, replace(options, id=key, label=label), features_elsewhere=True)
    names = [id_text(name) for name in np.asarray(raw.node_id).tolist()]
    _require_same(names, of, files)
    x = feature_lists.matrix([of.get(name, ()) for name in names], files.features)
    source, target, notes = reader_tables.edge_columns(
        reader_tables.edge_table(files.edges, options), options
    )
    ends = reader_tables.ends(
        source, target, str(files.edges), have_ids=True, bad=options.bad_edges
    )
    said = f"{files.features}: features, by {key!r}"
    return replace(
        raw,
        source=ends[0],
        target=ends[1],
        features=x,
        edges_where=str(files.edges),
        notes=(*raw.notes, *notes, *ends[2], *reader_tables.dropped(table), said),
        taken=replace(options, id=key, label=raw.taken.label if raw.taken else ""),
    )


def _files(paths: Sequence[Path], options: ImportOptions) -> Files:
    named = [path for path in unpacked(paths) if unzipped_suffix(path) in SUFFIXES]
    features = list(filter(feature_lists.is_json, named))
    features = features or [path for path in named if _FEATURES.search(path.name)]
    tables = [path for path in named if path not in features]
    if len(features) != 1 or len(tables) != 2:
        raise TaamctlError(
            f"{', '.join(path.name for path in named[:6])}: expected one file of features "
            "(JSON, or a table of node, feature and value) and two tables (CSV)",
            "name three files: the features, the edges, and the targets of the nodes",
        )
    nodes, edges = reader_tables.which(tables, options)
    return Files(features[0], Path(str(nodes)), Path(str(edges)))


def _id_column(table: Table, of: Mapping[str, object], files: Files) -> str:
    """Return the column that names the nodes as the features do.

    Raises:
        TaamctlError: none does, or two do in another order.
    """
    spelt = {name: [id_text(v) for v in cells.tolist()] for name, cells in table.columns.items()}
    like = [name for name, values in spelt.items() if of.keys() <= set(values)]
    if not like:
        raise TaamctlError(
            f"{files.nodes}: no column names the {len(of):,} nodes that {files.features.name} has "
            f"features of; its columns: {shown(', '.join(spelt))}",
            "--id names the column that is meant; each node needs a row and a list of features",
        )
    if any(spelt[name] != spelt[like[0]] for name in like):
        ways = [f"--id {quoted(name)}" for name in like]
        raise Unclear(
            f"{files.nodes}: {' and '.join(map(repr, like))} both name all nodes",
            f"say which one edges and features mean: {' or '.join(ways)}",
            ways,
        )
    return like[0]


def _require_same(names: Sequence[str], of: Mapping[str, object], files: Files) -> None:
    """Refuse features without a node; and a node without any, which JSON would list."""
    different = sorted(of.keys() - set(names))
    if feature_lists.is_json(files.features):
        different = sorted(of.keys() ^ set(names))
    if different:
        raise TaamctlError(
            f"{files.nodes} and {files.features.name} are about different nodes: {len(different):,}"
            f" stand in one of them alone, such as {shown(different[0])!r}",
            "spell the nodes alike in both, or name another column with --id",
        )
