"""report: every evaluation in the given output trees -> tables (Markdown, CSV, JSON) and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from taamctl.report import collect, figures, render
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
    tables = tuple(folder / name for name in ("report.json", "report.md", "report.csv"))
    pictures = tuple(folder / f"accuracy-matrix-{d}.png" for d in datasets) if params.pictures else ()

    def compute() -> None:
        runs = [collect.run_row(path) for path in paths]
        rows = collect.over_seeds(runs)
        validation = collect.over_seeds(collect.run_row(path, "val") for path in paths)
        for stale in set(folder.glob("accuracy-matrix-*.png")) - set(pictures):
            stale.unlink()
        artefacts.write_json(tables[0], {"rows": rows, "validation": validation, "runs": runs, "conditions": render.conditions(rows)})
        artefacts.write_text(tables[1], render.markdown(rows, params.decimals))
        artefacts.write_text(tables[2], render.comma_separated(rows))
        for dataset, picture in zip(datasets, pictures, strict=bool(pictures)):
            with artefacts.atomic(picture) as temporary:
                figures.accuracy_matrices(temporary, [r for r in rows if r["dataset"] == dataset])

    recorded: dict[str, Any] = {"report": canonical(params)}
    job = Job("report", ", ".join(datasets), recorded, tuple((p, "taamctl eval") for p in paths), (*tables, *pictures), CODE)
    return execute(context, job, compute)
