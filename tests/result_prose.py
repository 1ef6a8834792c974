"""Numbers in the prose of the README and the docs, held against the kept results.

    python tests/result_prose.py     # exit 1 where a number is not found; says where

A figure with one decimal, in a sentence that names a method or speaks of accuracy, has to be a kept
number of the methods and data sets that the sentence names (else its paragraph, else any). What
has another source stands in tests/golden/results/elsewhere.toml: whole sections by their heading,
single figures by the words around them.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import result_tables
from result_tables import GOLDEN, ROOT, Results

from taamctl.core import registry
from taamctl.report import published
from taamctl.report.published import PublishedRow

# One decimal, and no unit that accuracies do not have.
FIGURE = re.compile(
    r"(?<![\w.,/])[-−+]?\d{1,3}\.\d(?![\d\w]|\.\d)"
    r"(?!\s*(?:s|min|h|ms|GB|GiB|MB|MiB|KiB|M|G|GFLOP/s|times|CPU|million|years?)\b)"
)
ACCURACY = re.compile(r"\b(AA|AF|BWT|[Aa]ccurac\w+|forget\w*|AUROC)\b")
SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z*`(\d])")
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^(#+) +(.*?) *$", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SCOPES = ("all_seen", "up_to_task", "task_only")


@dataclass(frozen=True)
class Elsewhere:
    """What has another source: single figures, and sections by their headings, each with it.

    Attributes:
        figures: the words around a figure as they stand on a page -> source.
    """

    figures: dict[str, str]
    sections: dict[str, str]

    @classmethod
    def load(cls, folder: Path = GOLDEN) -> Elsewhere:
        """Return the list in a folder."""
        made = tomllib.loads((folder / "elsewhere.toml").read_text(encoding="utf-8"))
        return cls(made["figures"], made["sections"])

    def unused(self, texts: Sequence[str]) -> list[str]:
        """Return the entries that no page holds."""
        whole = " ".join(" ".join(text.split()) for text in texts)
        known = {match[2] for text in texts for match in HEADING.finditer(text)}
        found = [words for words in self.figures if words not in whole]
        return found + [heading for heading in self.sections if heading not in known]


@dataclass(frozen=True)
class Missing:
    """A figure that is not found, with its sentence."""

    page: str
    figure: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.page}: {self.figure} in: {self.sentence}"


def paragraphs(text: str, left_out: Collection[str] = ()) -> Iterator[str]:
    """Yield paragraphs, list items and lines of tables, without code, comments and the tables
    that are made from the kept data.

    Args:
        left_out: headings of sections that are not looked at, with those below them.
    """
    text = result_tables.REGION.sub("", text)
    text = COMMENT.sub("", CODE.sub("", text))
    outside = 0  # the level of a section that is left out; 0: none is
    for block in re.split(r"\n\s*\n", text.strip()):
        heading = HEADING.match(block)
        if heading:
            level = len(heading[1])
            outside = outside if outside and level > outside else level * (heading[2] in left_out)
        if outside or block.startswith("    "):
            continue  # indented: a command
        lines = block.splitlines()
        if lines and lines[0].startswith("|"):
            # the head says what a line is about
            yield from (f"{lines[0]} {line}" for line in lines[2:])
            continue
        for item in re.split(r"\n(?=\s*(?:[*-]|\d+\.)\s)", block):
            yield " ".join(item.split())


class Known:
    """The kept numbers, found by what a sentence names."""

    def __init__(self, results: Results) -> None:
        self.results = results

    @cached_property
    def rows(self) -> list[PublishedRow]:
        """Every row of every table of runs."""
        tables = ("main", "ablation", "readings", "tried", "taskid", "sweeps")
        return [row for table in tables for row in published.rows(table)]

    @cached_property
    def names(self) -> dict[str, set[str]]:
        """Name as it is written -> methods."""
        found: dict[str, set[str]] = {}
        for name in registry.names("taamctl.methods"):
            found.setdefault(f"`{name}`", set()).add(name)
        for row in self.rows:
            short = re.split(r",| \(", row.row)[0]
            found.setdefault(short, set()).add(row.method)
        return {name: methods for name, methods in found.items() if name[0] in "`ABCDEFGJLMOPST"}

    def methods_in(self, text: str) -> set[str]:
        """Return the methods that a text names."""
        found: set[str] = set()
        for name, methods in self.names.items():
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w])", text):
                found |= methods
        return found

    def datasets_in(self, text: str) -> set[str]:
        """Return the data sets that a text names."""
        every = {*published.datasets(), *(run["dataset"] for run in self.results.runs)}
        return {name for name in every if re.search(rf"(?i)\b{name}\b", text)}

    def figures(self, methods: set[str], datasets: set[str]) -> set[str]:
        """Return every kept and printed number of these, as it may be written; an empty set stands
        for all.
        """
        found: set[str] = set()
        for (dataset, method, _), runs in self.results.groups.items():
            if dataset in (datasets or {dataset}) and method in (methods or {method}):
                found |= set(_of_runs(runs))
        for cell in self.results.lens:
            method = next(r.method for r in published.lens_rows() if r.row == cell["row"])
            if cell["dataset"] in (datasets or {cell["dataset"]}) and method in (
                methods or {method}
            ):
                found |= {_shown(100 * cell[key]) for key in ("aa", "id") if cell[key] is not None}
        for row in self.rows:
            if row.method in (methods or {row.method}):
                found |= set(_of_print(row, datasets))
        return found | self._lens_means(methods, datasets)

    def _lens_means(self, methods: set[str], datasets: set[str]) -> set[str]:
        groups: dict[tuple[str, str, str], list[float]] = {}
        for cell in self.results.lens:
            method = next(r.method for r in published.lens_rows() if r.row == cell["row"])
            if cell["dataset"] in (datasets or {cell["dataset"]}) and method in (
                methods or {method}
            ):
                key = (cell["row"], cell["dataset"], cell["protocol"])
                groups.setdefault(key, []).append(100 * cell["aa"])
        return {_shown(sum(values) / len(values)) for values in groups.values()}


def _of_runs(runs: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Yield means and deviations over seeds, and every seed's own number."""
    for metric in ("aa", "af", "bwt", "legacy_af", "id"):
        mean = result_tables.over_seeds(runs, metric)
        if mean is not None:
            yield from map(_shown, mean)
    for scope in SCOPES:
        for metric in ("aa", "af"):
            alone = [{metric: run[metric][scope]} for run in runs]
            mean = result_tables.over_seeds(alone, metric)
            if mean is not None:
                yield from map(_shown, mean)


def _of_print(row: PublishedRow, datasets: set[str]) -> Iterator[str]:
    """Yield what is printed of a row."""
    for (dataset, _), cell in row.cells.items():
        if dataset in (datasets or {dataset}):
            yield from (_shown(cell.value), _shown(cell.std))


def _shown(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"


def missing(page: str, text: str, known: Known, listed: Elsewhere) -> Iterator[Missing]:
    """Yield the figures of a page that have no source."""
    for paragraph in paragraphs(text, listed.sections):
        plain = paragraph
        for words in listed.figures:
            plain = plain.replace(words, "")
        around = known.methods_in(plain)
        for sentence in SENTENCE.split(plain):
            named = known.methods_in(sentence)
            if not named and not around and not ACCURACY.search(sentence):
                continue
            sets = known.datasets_in(sentence) or known.datasets_in(plain)
            allowed = known.figures(named or around, sets)
            for figure in FIGURE.findall(sentence):
                written = figure.replace("−", "-").removeprefix("+")
                if written not in allowed:
                    yield Missing(page, written, sentence)


def main() -> int:
    """Print what is not found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kept", type=Path, default=GOLDEN)
    given = parser.parse_args()
    known, listed = Known(Results.load(given.kept)), Elsewhere.load()
    texts = {path: path.read_text(encoding="utf-8") for path in result_tables.pages()}
    found = [f"in elsewhere.toml only: {entry}" for entry in listed.unused(list(texts.values()))]
    for path, text in texts.items():
        page = path.relative_to(ROOT).as_posix()
        found += [str(each) for each in missing(page, text, known, listed)]
    print("\n".join(found) or "every number is found")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
