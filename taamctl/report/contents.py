"""What a report is made from, and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from taamctl.core.json_kinds import REPORT
from taamctl.evaluation.record import Evaluation
from taamctl.report import (
    collect,
    figure_data,
    figures,
    leading,
    lens_figure,
    lens_table,
    loss_figure,
    mixed_rows,
    page,
    paper_tables,
    render,
    report_rows,
    stream_figure,
    stream_section,
)
from taamctl.report.collect import Made
from taamctl.report.lens_table import LensRow
from taamctl.report.pictures import Picture
from taamctl.report.report_rows import SeedsRow, read_evaluation, row_of
from taamctl.report.same_scope import EVERY
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

PAPER = ("tables.tex", "tables.md")


@dataclass(frozen=True)
class Sources:
    """What a report is made from.

    Attributes:
        evaluations, lenses, verdicts: the files that it reads.
        losses: of runs that were trained by epochs; none without pictures.
        left_out: what is to be said of lens files that are not of the present models.
        seconds: of the training behind every evaluation; empty without pictures. The figure of
            times depends on them: a training that was done again, to the same bytes, takes others.
        pictures: whether figures are drawn.
        made: how every run was made, in the order of `evaluations`.
        streams: the summaries of replays in time.
    """

    evaluations: Sequence[Path]
    lenses: Sequence[Path]
    left_out: Sequence[str]
    verdicts: Sequence[Path]
    seconds: Sequence[float | None]
    pictures: bool
    made: Sequence[Made] = ()
    losses: Sequence[Path] = ()
    streams: Sequence[Path] = ()

    @property
    def inputs(self) -> tuple[tuple[Path, str], ...]:
        """Every file that it reads, with the command that makes it."""
        by = {
            "taamctl eval": (*self.evaluations, *self.losses),
            "taamctl eval --lens": self.lenses,
            "taamctl reproduce": self.verdicts,
            stream_section.MADE_BY: self.streams,
        }
        return tuple((path, made_by) for made_by, paths in by.items() for path in paths)

    @property
    def datasets(self) -> list[str]:
        """The data sets, sorted."""
        return sorted({collect.run_id(path).dataset for path in self.evaluations})

    @property
    def lens_datasets(self) -> list[str]:
        """Those that have a lens."""
        return sorted({collect.run_id(path).dataset for path in self.lenses})

    @property
    def loss_datasets(self) -> list[str]:
        """Those that a method was trained on by epochs."""
        return sorted({collect.run_id(path).dataset for path in self.losses})

    def names(self) -> list[str]:
        """Return the files that a report writes, the main one first."""
        found = ["report.json", "report.md", "report.csv", "report.html", *PAPER]
        if self.lenses:
            found.append("lens.csv")
        if self.pictures:
            for dataset in self.datasets:
                found += figure_data.files(dataset)
            for dataset in self.lens_datasets:
                found += lens_figure.names(dataset)
            for dataset in self.loss_datasets:
                found += loss_figure.names(dataset)
        return found


def sources(evaluations: Sequence[Path], layout: Layout, *, pictures: bool) -> Sources:
    """Find what lies beside the evaluations.

    Args:
        layout: of the tree whose comparisons with printed numbers, and whose replays, are shown.
    """
    lenses, left_out = lens_table.files(evaluations)
    verdicts, streams = collect.verdict_files(layout), stream_section.files(layout)
    seconds = [collect.training_seconds(path) for path in evaluations] if pictures else []
    made = [collect.made(path, provenance.sha256(path)) for path in evaluations]
    losses = loss_figure.files(evaluations) if pictures else []
    said = [*left_out, *stream_section.faults(streams)]
    return Sources(evaluations, lenses, said, verdicts, seconds, pictures, made, losses, streams)


def write(folder: Path, found: Sources, decimals: int) -> None:
    """Write the files of a report, and remove the figures of earlier ones."""
    known = {provenance.sha256(path): read_evaluation(path) for path in found.evaluations}
    units = lens_table.rows(found.lenses)
    best = leading.of(units)
    rows = _over_seeds(known, units)
    shown = _over_seeds(known, units, EVERY)
    pictures: list[Picture] = []
    if found.pictures:
        pictures = _drawn(found, known, shown, units)
    _remove_stale(folder, found.names())
    verdicts = [collect.verdicts(path) for path in found.verdicts]
    left_out = found.left_out
    value = {
        **REPORT.stamp,
        "rows": rows,
        "compared": shown,
        "mixed": best,
        "validation": report_rows.over_seeds(row_of(e, sha, "val") for sha, e in known.items()),
        "runs": [row_of(e, sha) for sha, e in known.items()],
        "conditions": render.conditions(shown),
        "lens": units,
        "lens_left_out": left_out,
    }
    atomic_files.write_json(folder / "report.json", msgspec.to_builtins(value))
    replays = stream_section.read(found.streams)
    behind = page.Behind(known, best, found.made, replays)
    papers = paper_tables.tables(shown, best)
    texts = {
        "tables.tex": paper_tables.latex(papers, decimals),
        "tables.md": paper_tables.markdown(papers, decimals),
        "report.md": render.markdown(shown, decimals, best)
        + lens_table.markdown(units, decimals, left_out)
        + stream_section.markdown(replays, decimals),
        "report.csv": render.comma_separated(rows),
        "report.html": page.render(shown, pictures, verdicts, decimals, units, left_out, behind),
    }
    if units:
        texts["lens.csv"] = lens_table.comma_separated(units)
    for name, text in texts.items():
        atomic_files.write_text(folder / name, text)
    for picture in pictures:
        if picture.kind == stream_figure.KIND:
            continue  # it lies beside the replay
        for name, data in picture.files().items():
            with atomic_files.atomic(folder / name) as temporary:
                temporary.write_bytes(data)


def _over_seeds(
    known: Mapping[str, Evaluation], units: Sequence[LensRow], scope: str = ""
) -> list[SeedsRow]:
    """Return the rows over seeds, in one logit scope; empty: each in its method's own."""
    runs = [row_of(made, sha256, scope=scope) for sha256, made in known.items()]
    return mixed_rows.with_mixed(report_rows.over_seeds(runs), units)


def _drawn(
    found: Sources,
    known: Mapping[str, Evaluation],
    rows: Sequence[SeedsRow],
    units: Sequence[LensRow],
) -> list[Picture]:
    """Return the figures, all rows in one scope."""
    runs = [row_of(made, sha256, scope=EVERY) for sha256, made in known.items()]
    timed = zip(found.made, found.seconds, strict=True)
    seconds = {made["sha256"]: spent for made, spent in timed if spent is not None}
    drawn = figures.draw_all(rows, runs, seconds, leading.of(units))
    drawn += [lens_figure.draw(dataset, units) for dataset in found.lens_datasets]
    curves = loss_figure.read(found.losses, found.evaluations)
    for dataset in found.loss_datasets:
        mine = [row for row in rows if row.dataset == dataset]
        drawn.append(loss_figure.draw(mine, curves))
    replays = stream_section.read(found.streams)
    return drawn + [stream_figure.draw(each.dataset, each.runs) for each in replays]


def _remove_stale(folder: Path, names: Sequence[str]) -> None:
    for kind in (*figure_data.KINDS, lens_figure.KIND, loss_figure.KIND):
        for path in folder.glob(f"{kind}[-.]*"):
            if path.name not in names:
                path.unlink()
