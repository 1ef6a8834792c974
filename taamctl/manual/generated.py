"""The parts of pages that the code knows better: written between two comments of a page.

`<!-- generated: NAME -->` and `<!-- /generated -->` stand around them. `taamctl docs --renew`
writes them anew, and a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from taamctl.core import registry
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.manual.pages import KINDS, pages
from taamctl.manual.parameter_rows import ParameterRow, rows
from taamctl.store import schema

BLOCK = re.compile(
    r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- /generated -->)", flags=re.DOTALL
)
Blocks = Mapping[str, Callable[[], str]]


def renewed(text: str, blocks: Blocks) -> str:
    """Return a page with its generated parts as the code has them now.

    Raises:
        TaamctlError: a part of a name that nothing generates.
    """

    def fill(found: re.Match[str]) -> str:
        if found["name"] not in blocks:
            known = ", ".join(sorted(blocks))
            raise TaamctlError(f"nothing generates {found['name']!r}", f"there are: {known}")
        return f"{found[1]}\n{blocks[found['name']]().rstrip()}\n\n{found[3]}"

    return BLOCK.sub(fill, text)


def table(head: tuple[str, ...], body: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join(lines + [f"| {' | '.join(cells)} |" for cells in body])


def of_pages() -> str:
    """Return the list of pages, by kind."""
    parts = []
    for kind, purpose in KINDS.items():
        lines = [
            f"* [{page.title}]({page.file.name})"
            for page in pages()
            if page.kind == kind and page.name != "index"
        ]
        parts.append("\n".join([f"**{kind}**: {purpose}", "", *lines]))
    return "\n\n".join(parts)


def of_parameters() -> str:
    """Return a table per section of params.yaml."""
    sections: dict[str, list[ParameterRow]] = {}
    for row in rows():
        top, _, rest = row.key.partition(".")
        name = top if top not in ("datasets", "methods") else f"{top}.{rest.partition('.')[0]}"
        sections.setdefault(name, []).append(row)
    parts = []
    for name, members in sections.items():
        body = [
            (f"`{row.key.removeprefix(name + '.')}`", f"`{row.value}`", row.allowed, row.doc)
            for row in members
        ]
        head = ("parameter", "packaged", "allowed", "meaning")
        parts.append(f"## `{name}`\n\n{table(head, body)}")
    return "\n\n".join(parts)


def of_methods() -> str:
    """Return a table of the methods that come with taamctl."""
    from taamctl.testing.describe import summary

    body = []
    for name in registry.builtin("taamctl.methods"):
        row = summary(name)
        needs = ", ".join(row["needs"]) or "–"
        body.append(
            (f"`{name}`", row["title"], row["family"], row["task_id"], needs, row["memory"])
        )
    return table(("name", "in print", "family", "task ID", "needs", "keeps of earlier data"), body)


def of_datasets() -> str:
    """Return a table of the data sets that come with taamctl."""
    body = []
    for name in registry.builtin("taamctl.datasets"):
        meta = data_set(name).meta
        counts = [f"{n:,}" if n >= 0 else "–" for n in (meta.nodes, meta.edges, meta.features)]
        classes, tasks = "–", "–"
        if meta.classes >= 0:
            classes, tasks = str(meta.classes), str(meta.classes // 2)
        files = ", ".join(file.name for file in meta.files) or "none needed"
        body.append((f"`{name}`", *counts, classes, tasks, files, meta.licence))
    return table(
        ("name", "nodes", "edges", "features", "classes", "tasks of two", "files", "licence"), body
    )


def of_metrics() -> str:
    """Return the fields of eval.json and metrics.json."""
    from taamctl.evaluation import record

    return record.field_tables()


BLOCKS: Blocks = {
    "pages": of_pages,
    "parameters": of_parameters,
    "artefacts": schema.markdown,
    "methods": of_methods,
    "datasets": of_datasets,
    "metrics": of_metrics,
}
