"""What `taamctl plan` predicts beside what runs recorded: `python tests/benchmarks/plan_check.py
OUTPUTS... [--calibrate]`.

For every stage that has a sidecar below OUTPUTS: seconds and peak memory, predicted from the exact
counts of the split, recorded, and their ratio (predicted / recorded); disk likewise; and CPU
seconds of all threads, which tell a busy machine from a wrong formula. Recorded memory is the peak
of the whole process, so run every stage by its own verb to compare it. Never part of a build; the
constants to refit stand in `taamctl/planning/costs.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.planning import calibrate, costs, counts, plan
from taamctl.runtime.provenance import sidecar_of
from taamctl.runtime.stage_table import PER_RUN, STAGES, TABLE
from taamctl.store.atomic_files import read_json


def overrides(asked: dict[str, Any]) -> list[str]:
    """Return the parameters that artefacts were made with, as `--set` takes them."""
    import json

    return [
        f"{section}.{key}={json.dumps(value)}"
        for section, values in asked.items()
        if isinstance(values, dict) and section != "run"
        for key, value in values.items()
        if not isinstance(value, dict)
    ]


def recorded(outputs: Path) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield (data set, stage, method, sidecar) of everything below a folder of outputs."""
    for stage in (name for name in STAGES if TABLE[name].files):
        for folder in sorted(
            p
            for p in (outputs / stage).glob("*/*/seed-*" if stage in PER_RUN else "*")
            if p.is_dir()
        ):
            side = sidecar_of(folder / TABLE[stage].files[0])
            if side.is_file():
                names = folder.relative_to(outputs / stage).parts
                yield names[0], stage, names[1] if len(names) > 1 else "", read_json(side)


def compare(outputs: Path, measured: bool) -> Iterator[tuple[str, ...]]:
    """Yield rows of the table."""
    for dataset, stage, method, record in recorded(outputs):
        context = make_context(
            Grid([dataset], [method or "taam"], [1]),
            Settings(overrides=overrides(record["asked"]), outputs=outputs),
            Writing(quiet=True),
            check_methods=True,
        )
        work = plan.workload(context)
        rates = (
            calibrate.measure(outputs, work.threads)
            if measured
            else costs.REFERENCE.on(work.threads)
        )
        exact = counts.exact(
            counts.of_dataset(context, dataset), context.layout.file("split", dataset), work.hops
        )
        cost = next(
            t.cost
            for t in plan.lines(context, (exact, exact, exact), rates, work)
            if t.cost.stage == stage
        )
        spent, size = record["cost"], sum(output["size"] for output in record["outputs"].values())
        pairs = (
            (cost.seconds, spent["wall_s"]),
            (cost.memory / costs.MIB, spent["peak_memory_mib"]),
            (cost.disk / costs.MIB, size / costs.MIB),
        )
        numbers = [value for pair in pairs for value in (*pair, pair[0] / max(pair[1], 0.01))]
        yield (dataset, stage, method, *(f"{value:,.1f}" for value in (*numbers, spent["cpu_s"])))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outputs", nargs="+", type=Path)
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="measure this machine instead of taking the reference rates",
    )
    asked = parser.parse_args()
    names = (
        "data set",
        "stage",
        "method",
        "s plan",
        "s run",
        "ratio",
        "MiB plan",
        "MiB run",
        "ratio",
        "disk plan",
        "disk run",
        "ratio",
        "CPU s",
    )
    rows = [names, *(row for outputs in asked.outputs for row in compare(outputs, asked.calibrate))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(names))]
    for row in rows:
        print(
            "  ".join(
                value.ljust(w) if i < 3 else value.rjust(w)
                for i, (value, w) in enumerate(zip(row, widths, strict=True))
            )
        )


if __name__ == "__main__":
    main()
