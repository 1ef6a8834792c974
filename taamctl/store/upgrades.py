"""How artefacts of earlier versions are read: one table of steps, and the page's table of all
kinds of files.

A step changes what the root attributes say. Arrays have never been renamed or changed in meaning;
one that an earlier version lacks is refused by name where it is asked for (`since` in the schema).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from taamctl.core import json_kinds
from taamctl.core.plain_values import Plain
from taamctl.core.versions import Versions, unchanged
from taamctl.store import schema

Attributes = dict[str, Plain]  # the root attributes of an artefact, by name
NAMES_NOT_KEPT = "not kept"


def _names_stated(said: Attributes) -> Attributes:
    """Say in a graph whether its features are named, or whether names were not kept then."""
    answers: dict[Plain, str] = {True: "yes", False: "no"}
    return {**said, "features_named": answers.get(said.get("features_named"), NAMES_NOT_KEPT)}


# kind -> version n -> what turns the attributes of version n into those of n + 1
STEPS: dict[str, Mapping[int, Callable[[Attributes], Attributes]]] = {
    "graph": {
        1: _names_stated,
        2: unchanged,  # 3 may hold edges to nodes of another graph
    },
    "split": {
        1: unchanged,  # 2 added the mixed query graphs
        2: unchanged,  # 3 added the hash of the features alone
    },
    "precompute": {
        1: unchanged,  # 2 may hold x as a dense matrix
        2: unchanged,  # 3 may hold the sizes of the features
    },
    "bank_shared": {
        1: unchanged,  # 2 may hold the sizes of the features
        2: unchanged,  # 3 may hold the key of the hashes of node names
    },
    "bank_router": {
        1: unchanged,  # 2 may hold what the bank knows of its answers
        2: unchanged,  # 3 may hold the mean profile of every class, and with it a fifth sign
    },
    "bank_task": {
        1: unchanged,  # 2 may hold exact sums and the record of the nodes
        2: unchanged,  # 3 may hold validation nodes
    },
    "infer": {
        1: unchanged,  # 2 added what explains printed AF values
        2: unchanged,  # 3 added how sure the decisions are
    },
}


def versions_of(kind: str) -> Versions[Attributes]:
    """Return the versions of a kind of artefact."""
    return Versions(kind, schema.KINDS[kind].version, STEPS.get(kind, {}))


def table() -> str:
    """Return all kinds of files with their versions as Markdown, for docs/formats.md."""
    return "\n".join(_rows())


def _rows() -> Iterator[str]:
    yield "| kind | version | earliest that is read | stated as | what it is |"
    yield "|---|---|---|---|---|"
    for name, kind in schema.KINDS.items():
        earliest = versions_of(name).earliest
        yield f"| `{name}` | {kind.version} | {earliest} | `schema_version` | {kind.doc} |"
    for of in json_kinds.ALL:
        found = of.versions
        doc = f"{of.doc}: `{of.file}`"
        yield f"| `{found.kind}` | {found.present} | {found.earliest} | `{of.key}` | {doc} |"
