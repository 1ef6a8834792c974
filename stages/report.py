"""report: every evaluation in the given output trees -> tables (Markdown, CSV, JSON) and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taamctl.report import collect, figures, render
from taamctl.runtime import artefacts
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.runtime.layout import Layout
from taamctl.runtime.params import canonical

CODE = ("core", "runtime", "evaluation", "report", "stages/report.py")


def run(context: Context, paths: list[Path] | None = None) -> Outcome:
    """Report the evaluations at `paths`; None takes those that the `run` section names."""
    params, wanted = context.params.section("report"), context.params.section("run")
    if paths is None:
        paths = collect.evaluations(context.layout, wanted.datasets, wanted.methods, wanted.seeds)
    collect.require(paths, context.layout)
    folder = context.layout.root / "report"
    datasets = sorted({_dataset(p) for p in paths})
    tables = tuple(folder / name for name in ("report.json", "report.md", "report.csv"))
    pictures = tuple(folder / f"accuracy-matrix-{d}.png" for d in datasets) if params.pictures else ()

    def compute() -> None:
        runs = [collect.run_row(path) for path in paths]
        rows = collect.over_seeds(runs)
        validation = collect.over_seeds(collect.run_row(path, "val") for path in paths)
        artefacts.write_json(tables[0], {"rows": rows, "validation": validation, "runs": runs, "conditions": render.conditions(rows)})
        artefacts.write_text(tables[1], render.markdown(rows, params.decimals))
        artefacts.write_text(tables[2], render.comma_separated(rows))
        for dataset, picture in zip(datasets, pictures, strict=bool(pictures)):
            with artefacts.atomic(picture) as temporary:
                figures.accuracy_matrices(temporary, [r for r in rows if r["dataset"] == dataset])

    recorded: dict[str, Any] = {"report": canonical(params), "inputs": [str(p) for p in paths]}
    job = Job("report", ", ".join(datasets), recorded, tuple((p, "taamctl eval") for p in paths), (*tables, *pictures), CODE)
    return execute(context, job, compute)


def _dataset(path: Path) -> str:
    return path.parts[-4]


def layouts(roots: list[Path]) -> list[Path]:
    """Return every evaluation below several output trees."""
    return [path for root in roots for path in collect.evaluations(Layout(root))]
