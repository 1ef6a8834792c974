"""Ratios measured side by side in one run; never part of a build.

    python tests/benchmarks/bench.py [NAME ...] [--json FILE] [--compare FILE] [--threads N]

propagation, condensing, prompting: kernels, 1.00 = the fastest (or the bare product). training: one
step at the shapes of a task of Photo, Computer and Citeseer, 1.00 = the dense products with W1.
condensing methods: an encoder or a net of CaT, PUMA and DeLoMe, 1.00 = its products alone.
steps: one step of every method that trains a net, 1.00 = that step as its equations read.
crossover: sparse over dense step by density of H. reading: the artefact store against bare bytes.
closed form: a ridge by eigenvalues, and in the width of kept directions, over one by factors, in
CPU.
subnormals: numbers below 1e-38, kept over flushed. report: when a large report's first screen is
there, by a browser's own clock. serving: a bank loaded, and answers for one node and for a graph
(needs the data sets). scaling: fitted exponents. whole: processes from raw data to metrics (needs
the data sets; says which are not there); products: the same at the size of ogbn-products, not part
of a bare call. `--compare` puts an earlier `--json` file beside the new numbers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import closed_form
import condensed
import first_screen
import kernels
import net_steps
import reading
import scaling
import serving
import subnormals
import timing
import torch
import training
import whole

Result = dict[str, Any]


def ratios(seconds: dict[str, float], reference: str | None = None) -> Result:
    """Return seconds and ratios to a reference, or to the fastest."""
    base = seconds[reference] if reference else min(seconds.values())
    return {k: {"seconds": round(v, 5), "ratio": round(v / base, 2)} for k, v in seconds.items()}


def ratios_within(seconds: dict[str, float], reference: str) -> Result:
    """Return seconds, and the ratio of the other candidate to the reference."""
    (other,) = seconds.keys() - {reference}
    return {
        **{f"{k} s": round(v, 4) for k, v in seconds.items()},
        "ratio": round(seconds[other] / seconds[reference], 2),
    }


BENCHMARKS: dict[str, Callable[[], Result]] = {
    "propagation": lambda: ratios(kernels.propagation()),
    "condensing": lambda: ratios(kernels.condensing(), "product"),
    "condensing methods": lambda: {
        name: ratios_within(seconds, "products") for name, seconds in condensed.condensing().items()
    },
    "prompting": lambda: ratios(kernels.prompting()),
    **{
        f"training {name}": (lambda n=name: ratios(training.steps(n), "products"))
        for name in training.SHAPES
    },
    **{
        f"steps {name}": (lambda n=name: ratios(net_steps.steps(n), "plain"))
        for name in training.SHAPES
    },
    "crossover": lambda: {
        density: {"ratio": round(r, 2)} for density, r in training.crossover().items()
    },
    "reading": lambda: ratios(reading.reading(), "bare bytes"),
    "closed form": lambda: {
        name: ratios(seconds, "factors") for name, seconds in closed_form.closed_form().items()
    },
    "scaling": scaling.scaling,
    **{
        f"subnormals {kind}": (
            lambda measure=measure: {
                name: ratios_within(seconds, "flushed") for name, seconds in measure().items()
            }
        )
        for kind, measure in (("kernels", subnormals.kernels), ("methods", subnormals.methods))
    },
    "report": first_screen.measured,
    "serving citeseer": lambda: serving.serving("citeseer", 2),
    "serving debian": lambda: serving.serving("debian", 3),
    "whole": lambda: whole.whole(whole.SMALL),
    "products": lambda: whole.whole(("synthetic products",)),
}


def show(name: str, result: Result, before: Result) -> None:
    """Print one benchmark, with the change against an earlier run where there is one."""
    print(name)
    for key, value in result.items():
        text = ", ".join(f"{k} {v}" for k, v in value.items() if k != "stages")
        print(f"  {key:55s} {text}{_change(value, before.get(key, {}))}", flush=True)


def _change(now: Result, then: Result) -> str:
    """Return how a benchmark's own figure of merit differs from an earlier run's."""
    merit = next((m for m in ("ratio", "exponent", "cpu_s") if now.get(m) and then.get(m)), None)
    return f"   [{merit} was {then[merit]}: x {now[merit] / then[merit]:.2f}]" if merit else ""


def _earlier(parser: argparse.ArgumentParser, path: Path | None) -> Result:
    """Return an earlier result, or {}; refuse what is none before anything is measured."""
    if path is None:
        return {}
    try:
        before = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        parser.error(f"--compare {path}: {error}")
    if not isinstance(before, dict) or not all(
        isinstance(v, dict) for n, v in before.items() if n in BENCHMARKS
    ):
        parser.error(f"--compare {path}: not what --json writes")
    return before


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(BENCHMARKS)}; all but products where none is given",
    )
    parser.add_argument(
        "--json", type=Path, help="write the result here, to compare a later run with"
    )
    parser.add_argument("--compare", type=Path, help="an earlier result")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    chosen = arguments.names or [n for n in BENCHMARKS if n != "products"]
    if unknown := [n for n in chosen if n not in BENCHMARKS]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    before = _earlier(parser, arguments.compare)
    if arguments.threads < 1:
        parser.error("--threads must be 1 or more")
    if arguments.json and not arguments.json.parent.is_dir():
        parser.error(f"--json {arguments.json}: there is no folder {arguments.json.parent}")
    machine = timing.machine()
    result: Result = {"machine": machine, "threads": arguments.threads}
    about = ", ".join(f"{name} {value}" for name, value in machine.items())
    print(f"{about}, threads {arguments.threads}", flush=True)
    for name in chosen:
        torch.set_num_threads(arguments.threads)
        result[name] = BENCHMARKS[name]()
        show(name, result[name], before.get(name, {}))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
