"""Condensing two classes of a task of Photo, an encoder or a net at a time, as CaT, PUMA and DeLoMe
do by the packaged parameters; 1.00 is the products alone that this takes. One thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from timing import best

from taamctl.core.progress import SILENT
from taamctl.learning.kernels import condense
from taamctl.models.backbones import HIDDEN
from taamctl.params import params_file

SIZES, FEATURES, CLASSES = (330, 660), 745, 8
ROUNDS = 3
PACKAGED = params_file.read(params_file.PACKAGED)["methods"]
TIMES = {"cat": 20, "puma": 2, "delome": 20}  # encoders or nets in one measurement


def condensing() -> dict[str, dict[str, float]]:
    """Return method -> CPU seconds of an encoder or a net, and of its products."""
    torch.set_num_threads(1)
    real = [torch.rand(n, FEATURES) for n in SIZES]
    found = {}
    for name, times in TIMES.items():
        seconds = best(
            {name: _condensing(name, real, times), "products": _products(name, real, times)},
            ROUNDS,
            time.process_time,
        )
        found[name] = {way: total / times for way, total in seconds.items()}
    return found


def _start(name: str) -> list[torch.Tensor]:
    return [torch.rand(PACKAGED[name]["budget"], FEATURES) for _ in SIZES]


def _condensing(name: str, real: list[torch.Tensor], times: int) -> Callable[[], None]:
    own = PACKAGED[name]
    if name == "delome":
        return lambda: condense.match_gradients(
            real,
            _start(name),
            range(len(SIZES)),
            num_classes=CLASSES,
            hidden=HIDDEN,
            kind="raw_nll",
            iterations=times,
            lr=own["condense_lr"],
            generator=torch.Generator().manual_seed(0),
            progress=SILENT,
        )
    return lambda: condense.match_means(
        real,
        _start(name),
        width=own["width"],
        encoders=times,
        updates=own.get("updates", 1),
        lr=own["condense_lr"],
        fresh_adam="updates" in own,
        generator=np.random.default_rng(0),
        progress=SILENT,
    )


def _products(name: str, real: list[torch.Tensor], times: int) -> Callable[[], None]:
    """Return the products with an encoder, or with the nets and what their gradients take."""
    own = PACKAGED[name]
    width = own.get("width", HIDDEN)
    whole, rows = torch.cat(real), torch.cat(_start(name))
    w = torch.rand(width, FEATURES)
    of_rows = torch.rand(len(rows), width)
    across, among = torch.rand(len(rows), len(whole)), torch.rand(len(rows), len(rows))

    def one() -> None:
        whole @ w.T
        for _ in range(own.get("updates", 1)):
            rows @ w.T
            of_rows @ w
        if name == "delome":  # of rows with all others and with each other, there and back
            rows @ whole.T
            across @ whole
            rows @ rows.T
            among @ rows

    def all_of_them() -> None:
        for _ in range(times):
            one()

    return all_of_them
