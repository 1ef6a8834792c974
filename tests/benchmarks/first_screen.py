"""The report of 12 methods x 3 seeds x 3 data sets in a headless Chromium: its size, and when its
first screen is there, by the browser's own clock.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import browser
import made_up

from taamctl.evaluation import loss_curves

METHODS, SEEDS, SETS, TASKS, EPOCHS = 12, 3, 3, 10, 200
TIMES = 7  # pages opened; the median counts
# When the first text or picture was drawn, and when all of the page was there: ms after the call.
MOMENTS = """
(() => {
  const painted = performance.getEntriesByName('first-contentful-paint')[0];
  const whole = performance.getEntriesByType('navigation')[0].loadEventEnd;
  return painted && whole ? [painted.startTime, whole] : null;
})()
"""


def page(root: Path) -> Path:
    """Make up evaluations and their losses, report them, and return the page."""
    study = made_up.Study(
        datasets=tuple(f"data{at}" for at in range(SETS)),
        right={f"method{at}": 0.95 - 0.05 * at for at in range(METHODS)},
        seeds=tuple(range(1, SEEDS + 1)),
        tasks=TASKS,
    )
    rng = np.random.default_rng(1)
    for path in made_up.write(root, study):
        falling = np.exp(-np.arange(EPOCHS) / 40) * rng.uniform(0.9, 1.1, (TASKS, EPOCHS))
        text = loss_curves.table(falling.astype(np.float32))
        path.with_name("loss.csv").write_text(text, encoding="utf-8")
    found: Path = made_up.report(root)
    return found


def measured() -> dict[str, dict[str, float]]:
    """Return the page's size in MB, and the medians of its moments in seconds; nothing where there
    is no Chromium.
    """
    program = browser.executable()
    if program is None:
        return {"no Chromium here": {}}
    with tempfile.TemporaryDirectory() as folder, browser.Browser(program) as opened:
        made = page(Path(folder))
        moments = [_moments(opened, made) for _ in range(TIMES)]
        size = made.stat().st_size / 1e6
    painted, whole = ([each[at] / 1000 for each in moments] for at in (0, 1))
    found = {
        "MB": size,
        "first screen s": statistics.median(painted),
        "slowest": max(painted),
        "whole page s": statistics.median(whole),
    }
    name = f"{METHODS} methods x {SEEDS} seeds x {SETS} sets, of {TIMES} times"
    return {name: {what: round(value, 3) for what, value in found.items()}}


def _moments(opened: browser.Browser, made: Path) -> list[float]:
    """Open a page and return its moments, once it has painted."""
    opened.open(made)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found: list[float] | None = opened.run(MOMENTS)
        if found:
            return found
        time.sleep(0.01)
    raise RuntimeError("the browser painted nothing in a minute")
