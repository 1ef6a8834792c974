"""What a data set says about itself, beside its loader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RawFile:
    """One downloadable raw file.

    Attributes:
        name: file name under the data root's own folder for the data set.
        url: where it comes from.
        sha256: known checksum; empty where the publisher gives none (then the first download's is
            recorded).
    """

    name: str
    url: str
    sha256: str = ""


@dataclass(frozen=True)
class Meta:
    """Facts about a data set, checked against what the loader returns.

    Attributes:
        nodes, edges, features, classes: counts; `edges` are the stored directed entries of the raw
            graph after duplicates are dropped (methods that symmetrise get more); `classes` counts
            before any class is dropped. -1 in `nodes` marks a generated data set whose size is a
            parameter.
        directed: True where the published experiments use the edges as directed (only ogbn-arxiv).
        feature_norm: normalisation that the usual reader applies on load: `none` or `row` (divide
            by the row sum).
        unlabelled_as: label that the usual reader gives to unlabelled nodes, or None where they are
            dropped.
        files: what `taamctl data fetch` downloads; empty for embedded and generated data.
        licence, citation, homepage: as the publisher states them.
        order: the documented node order, in one sentence.
        params: the dataclass of the data set's own section under `datasets:` in params.yaml, or
            None.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    licence: str
    citation: str
    homepage: str
    order: str
    directed: bool = False
    feature_norm: str = "none"
    unlabelled_as: int | None = None
    files: tuple[RawFile, ...] = ()
    params: type[Any] | None = None
