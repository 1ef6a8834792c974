"""report: every evaluation in the given output trees -> tables (Markdown, CSV, JSON), figures with their numbers, one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from taamctl.report import collect, figure_data, figures, lens, lens_figure, page, render
from taamctl.runtime import artefacts
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.runtime.layout import Layout
from taamctl.runtime.params import canonical

CODE = ("core", "runtime", "evaluation", "report", "stages/report.py")


def run(context: Context, also: Sequence[Path] = (), *, everything: bool = False) -> Outcome:
    """Report the evaluations that the `run` section names, or everything, in the outputs folder and further ones."""
    params, wanted = context.params.section("report"), context.params.section("run")
    filters = () if everything else (wanted.datasets, wanted.methods, wanted.seeds)
    paths = [p for root in (context.layout.root, *also) for p in collect.evaluations(Layout(root), *filters)]
    collect.require(paths, context.layout)
    for missing in () if everything else collect.missing(paths, *filters):
        context.tell(f"note: no evaluation of {missing}; it is not in the report")
    folder = context.layout.root / "report"
    datasets = sorted({path.parts[-4] for path in paths})
    looked = lens.files(paths)
    tables = tuple(folder / name for name in ("report.json", "report.md", "report.csv", "report.html", *(["lens.csv"] if looked else [])))
    shown_lens = sorted({path.parts[-4] for path in looked})
    pictures = tuple(folder / name for d in datasets for name in (*figure_data.files(d), *(lens_figure.names(d) if d in shown_lens else ()))
                     ) if params.pictures else ()
    # The figure of times depends on more than the evaluations: a training that was done again, to the same bytes, takes other seconds.
    seconds = [collect.training_seconds(path) for path in paths] if params.pictures else []
    verdicts = collect.verdict_files(context.layout)

    def compute() -> None:
        runs = [collect.run_row(path) for path in paths]
        rows = collect.over_seeds(runs)
        validation = collect.over_seeds(collect.run_row(path, "val") for path in paths)
        units = lens.rows(looked)
        for stale in {p for kind in (*figure_data.KINDS, lens_figure.KIND) for p in folder.glob(f"{kind}[-.]*")} - {*pictures, *tables}:
            stale.unlink()
        artefacts.write_json(tables[0], {"rows": rows, "validation": validation, "runs": runs, "conditions": render.conditions(rows),
                                         "lens": units})
        artefacts.write_text(tables[1], render.markdown(rows, params.decimals) + lens.markdown(units, params.decimals))
        if units:
            artefacts.write_text(tables[4], lens.comma_separated(units))
        artefacts.write_text(tables[2], render.comma_separated(rows))
        spent = {r["sha256"]: s for r, s in zip(runs, seconds, strict=bool(seconds)) if s is not None}
        shown = [*figures.draw_all(rows, runs, spent), *(lens_figure.draw(d, units) for d in shown_lens)] if pictures else []
        for name, data in (file for picture in shown for file in picture.files().items()):
            with artefacts.atomic(folder / name) as temporary:
                temporary.write_bytes(data)
        artefacts.write_text(tables[3], page.render(rows, shown, [collect.verdicts(path) for path in verdicts], params.decimals, units))

    recorded: dict[str, Any] = {"report": canonical(params), "seconds": seconds, "page": page.template_digest()}
    inputs = (*((p, "taamctl eval") for p in (*paths, *looked)), *((p, "taamctl reproduce") for p in verdicts))
    job = Job("report", ", ".join(datasets), recorded, inputs, (*tables, *pictures), CODE)
    return execute(context, job, compute)
