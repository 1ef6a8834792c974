"""The cost table of `taamctl reproduce params`: what every method keeps beside the backbone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taamctl.core import registry
from taamctl.core.types import Array, StreamInfo
from taamctl.learning.contract.method_plugin import method_class
from taamctl.params.sections import Params
from taamctl.params.train_params import TrainParams
from taamctl.pipeline.printed_numbers import Table, record_of
from taamctl.report import published, reproduction
from taamctl.runtime.job import Context
from taamctl.store.feature_store import FeatureStore

TRAINED_ON = 0.6  # of every class
Sizes = tuple[StreamInfo, Array]  # the stream, and [C] training nodes per class


def table(context: Context, datasets: Sequence[str] | None = None) -> Table:
    """Return the cost table: what each method's own `stored` counts, from F and class sizes alone.

    Args:
        datasets: None for the paper's eight.
    """
    if datasets is None:
        datasets = published.datasets()
    sizes = {dataset: _sizes(context, dataset) for dataset in datasets}
    records = []
    for row in published.rows("params"):
        for dataset, known in sizes.items():
            cost = None if known is None else _cost(context.params, row.method, known)
            records.append(record_of(row, dataset, "cost", cost, 0.0, missing=cost is None))
    facts = [
        "Counted by each method itself from the number of features and the class sizes (60 % "
        "of a class is trained on), of a data set without class sizes on file from its features "
        "where they are propagated."
    ]
    return Table("params", records, reproduction.conditions("params", records, facts))


def _sizes(context: Context, dataset: str) -> Sizes | None:
    """Return a data set's stream and training nodes: from the class sizes on file, else from its
    propagated features, where they are there.
    """
    known = published.sizes(dataset)
    if known is not None:
        features, classes = known
        bounds = tuple((c, c + 2) for c in range(0, len(classes) - 1, 2))
        train = np.maximum(1, (np.array(classes) * TRAINED_ON).astype(int))
        return StreamInfo(features, bounds), train[: bounds[-1][1]]
    path = context.layout.file("precompute", dataset)
    if not path.is_file():
        return None
    with FeatureStore(path, context.layout.command("precompute", dataset)) as store:
        return store.info, store.class_sizes()


def _cost(params: Params, method: str, sizes: Sizes) -> float:
    """Return millions of words as the paper counts them."""
    import torch

    from taamctl.evaluation import cost

    info, train = sizes
    learner = method_class(method)(
        params.plugin("methods", method, registry.method_params(method)),
        info,
        params.section(TrainParams),
        0,
        torch.device("cpu"),
    )
    stored = learner.stored(train)
    return float(cost.paper(stored.parameters, stored.rows, info.num_features) / 1e6)
