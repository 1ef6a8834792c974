"""The training loop that all gradient-trained methods share: Adam, a fixed number of epochs,
full batch or node batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.progress import Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.types import Array
from taamctl.learning.kernels.adam import Adam
from taamctl.params.train_params import TrainParams

Rows: TypeAlias = "torch.Tensor | slice"  # the rows of a batch, [B] int64
Loss: TypeAlias = "Callable[[Rows], torch.Tensor]"
ALL = slice(None)


def adam(parameters: Sequence[torch.Tensor], train: TrainParams) -> Adam:
    """Return Adam as the `train` section has it."""
    return Adam(parameters, train.lr, train.weight_decay)


def batched(num_rows: int, train: TrainParams) -> bool:
    """Tell whether an epoch has several steps."""
    return 0 < train.node_batch < num_rows


def fit(
    optimiser: Adam,
    loss: Loss,
    num_rows: int,
    *,
    train: TrainParams,
    seed: int,
    task: int,
    progress: Progress,
    adjust: Callable[[], None] | None = None,
    after: Callable[[], None] | None = None,
) -> Array:
    """Minimise `loss` for `train.epochs` epochs and return the mean loss of each, [epochs] float32.

    Args:
        loss: takes the rows of a batch, or `ALL`.
        num_rows: training rows N.
        seed, task: decide the order of the batches.
        adjust: called between the backward pass and the step; it may change the gradients.
        after: called after every step.
    """
    device = optimiser.parameters[0].device
    generator = torch_generator(seed, "batches", task)
    history: list[torch.Tensor] = []
    for _ in range(train.epochs):
        batches: Sequence[Rows] = [ALL]
        sizes = [num_rows]
        if batched(num_rows, train):
            order = torch.randperm(num_rows, generator=generator).to(device)
            batches = order.split(train.node_batch)  # type: ignore[no-untyped-call]
            sizes = [len(rows) for rows in batches]  # type: ignore[arg-type]
        total = torch.zeros((), device=device)
        for rows, size in zip(batches, sizes, strict=True):
            optimiser.zero_grad()
            value = loss(rows)
            value.backward()  # type: ignore[no-untyped-call]
            if adjust is not None:
                adjust()
            optimiser.step()
            if after is not None:
                after()
            total += value.detach() * size
        history.append(total / num_rows)
        progress.advance()
    return np.asarray(torch.stack(history).cpu().numpy(), np.float32)


def optimiser_state(optimiser: Adam) -> dict[str, Array]:
    """Return Adam's moments and step counts as arrays, `adam/<parameter>/<name>`."""
    return {
        f"adam/{index}/{name}": np.array(value.cpu().numpy())
        for index, values in optimiser.state.items()
        for name, value in values.items()
    }


def restore_optimiser(optimiser: Adam, arrays: dict[str, Array]) -> None:
    """Install what `optimiser_state` returned."""
    optimiser.state = {}
    for key, array in arrays.items():
        _, index, name = key.split("/")
        value = torch.from_numpy(np.array(array))
        if name != "step":  # which torch keeps on the CPU
            value = value.to(optimiser.parameters[int(index)].device)
        optimiser.state.setdefault(int(index), {})[name] = value
