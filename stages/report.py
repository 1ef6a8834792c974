"""report: every evaluation in the given output trees -> tables (Markdown, CSV, JSON), figures
with their numbers, one HTML page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from taamctl.core.plain_values import canonical
from taamctl.params.report_params import ReportParams
from taamctl.params.run_params import RunParams
from taamctl.report import collect, contents, figure_data, figures, lens_figure, lens_table, page
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

CODE = ("core", "params", "runtime", "store", "evaluation", "report", "stages/report.py")


def run(context: Context, also: Sequence[Path] = (), *, everything: bool = False) -> Outcome:
    """Report the evaluations that the `run` section names, or everything, in the outputs folder
    and further ones.
    """
    params, wanted = context.params.section(ReportParams), context.params.section(RunParams)
    filters = () if everything else (wanted.datasets, wanted.methods, wanted.seeds)
    paths = [
        p
        for root in (context.layout.root, *also)
        for p in collect.evaluations(Layout(root), *filters)
    ]
    collect.require(paths, context.layout)
    for missing in () if everything else collect.missing(paths, *filters):
        context.tell(f"note: no evaluation of {missing}; it is not in the report")
    folder, datasets = context.layout.root / "report", sorted({path.parts[-4] for path in paths})
    looked, left_out = lens_table.files(paths)
    for line in left_out:
        context.tell(f"note: {line}")
    tables = tuple(folder / name for name in contents.names(with_lens=bool(looked)))
    shown_lens = sorted({path.parts[-4] for path in looked})
    pictures = (
        tuple(
            folder / name
            for d in datasets
            for name in (*figure_data.files(d), *(lens_figure.names(d) if d in shown_lens else ()))
        )
        if params.pictures
        else ()
    )
    # The figure of times depends on more than the evaluations: a training that was done again, to
    # the same bytes, takes other seconds.
    seconds = [collect.training_seconds(path) for path in paths] if params.pictures else []
    verdicts = collect.verdict_files(context.layout)

    def compute() -> None:
        runs, validation = (
            [collect.run_row(path, part) for path in paths] for part in ("test", "val")
        )
        rows, units = collect.over_seeds(runs), lens_table.rows(looked)
        for stale in {
            p
            for kind in (*figure_data.KINDS, lens_figure.KIND)
            for p in folder.glob(f"{kind}[-.]*")
        } - {*pictures, *tables}:
            stale.unlink()
        spent = {
            r["sha256"]: s for r, s in zip(runs, seconds, strict=bool(seconds)) if s is not None
        }
        shown = (
            [
                *figures.draw_all(rows, runs, spent),
                *(lens_figure.draw(d, units) for d in shown_lens),
            ]
            if pictures
            else []
        )
        found = contents.Found(
            runs,
            rows,
            collect.over_seeds(validation),
            units,
            left_out,
            [collect.verdicts(path) for path in verdicts],
        )
        for name, made in contents.contents(found, shown, params.decimals).items():
            (atomic_files.write_json if name.endswith(".json") else atomic_files.write_text)(
                folder / name, made
            )
        for name, data in (file for picture in shown for file in picture.files().items()):
            with atomic_files.atomic(folder / name) as temporary:
                temporary.write_bytes(data)

    recorded: dict[str, Any] = {
        "report": canonical(params),
        "seconds": seconds,
        "page": page.template_digest(),
        "left_out": left_out,
    }
    inputs = (
        *((p, "taamctl eval") for p in (*paths, *looked)),
        *((p, "taamctl reproduce") for p in verdicts),
    )
    return execute(
        context,
        Job("report", ", ".join(datasets), recorded, inputs, (*tables, *pictures), CODE),
        compute,
    )
