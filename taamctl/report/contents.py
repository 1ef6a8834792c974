"""What a report is made from, and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from taamctl.core.json_kinds import REPORT
from taamctl.report import (
    collect,
    figure_data,
    figures,
    lens_figure,
    lens_table,
    mixed_rows,
    page,
    render,
    report_rows,
)
from taamctl.report.pictures import Picture
from taamctl.store import atomic_files


@dataclass(frozen=True)
class Sources:
    """What a report is made from.

    Attributes:
        evaluations, lenses, verdicts: the files that it reads.
        left_out: what is to be said of lens files that are not of the present models.
        seconds: of the training behind every evaluation; empty without pictures. The figure of
            times depends on them: a training that was done again, to the same bytes, takes others.
        pictures: whether figures are drawn.
    """

    evaluations: Sequence[Path]
    lenses: Sequence[Path]
    left_out: Sequence[str]
    verdicts: Sequence[Path]
    seconds: Sequence[float | None]
    pictures: bool

    @property
    def datasets(self) -> list[str]:
        """The data sets, sorted."""
        return sorted({collect.run_id(path).dataset for path in self.evaluations})

    @property
    def lens_datasets(self) -> list[str]:
        """Those that have a lens."""
        return sorted({collect.run_id(path).dataset for path in self.lenses})

    def names(self) -> list[str]:
        """Return the files that a report writes, the main one first."""
        found = ["report.json", "report.md", "report.csv", "report.html"]
        if self.lenses:
            found.append("lens.csv")
        if self.pictures:
            for dataset in self.datasets:
                found += figure_data.files(dataset)
            for dataset in self.lens_datasets:
                found += lens_figure.names(dataset)
        return found


def sources(evaluations: Sequence[Path], verdicts: Sequence[Path], *, pictures: bool) -> Sources:
    """Find what lies beside the evaluations."""
    lenses, left_out = lens_table.files(evaluations)
    seconds = [collect.training_seconds(path) for path in evaluations] if pictures else []
    return Sources(evaluations, lenses, left_out, verdicts, seconds, pictures)


def write(folder: Path, found: Sources, decimals: int) -> None:
    """Write the files of a report, and remove the figures of earlier ones."""
    runs = [report_rows.run_row(path) for path in found.evaluations]
    units = lens_table.rows(found.lenses)
    over_seeds = mixed_rows.with_mixed(report_rows.over_seeds(runs), units)
    validation = report_rows.over_seeds(
        report_rows.run_row(path, "val") for path in found.evaluations
    )
    pictures: list[Picture] = []
    if found.pictures:
        timed = zip(runs, found.seconds, strict=True)
        seconds = {run.sha256: spent for run, spent in timed if spent is not None}
        pictures = figures.draw_all(over_seeds, runs, seconds)
        pictures += [lens_figure.draw(dataset, units) for dataset in found.lens_datasets]
    _remove_stale(folder, found.names())
    verdicts = [collect.verdicts(path) for path in found.verdicts]
    left_out = found.left_out
    value = {
        **REPORT.stamp,
        "rows": over_seeds,
        "validation": validation,
        "runs": runs,
        "conditions": render.conditions(over_seeds),
        "lens": units,
        "lens_left_out": left_out,
    }
    atomic_files.write_json(folder / "report.json", msgspec.to_builtins(value))
    texts = {
        "report.md": render.markdown(over_seeds, decimals)
        + lens_table.markdown(units, decimals, left_out),
        "report.csv": render.comma_separated(over_seeds),
        "report.html": page.render(over_seeds, pictures, verdicts, decimals, units, left_out),
    }
    if units:
        texts["lens.csv"] = lens_table.comma_separated(units)
    for name, text in texts.items():
        atomic_files.write_text(folder / name, text)
    for picture in pictures:
        for name, data in picture.files().items():
            with atomic_files.atomic(folder / name) as temporary:
                temporary.write_bytes(data)


def _remove_stale(folder: Path, names: Sequence[str]) -> None:
    for kind in (*figure_data.KINDS, lens_figure.KIND):
        for path in folder.glob(f"{kind}[-.]*"):
            if path.name not in names:
                path.unlink()
