"""What each stage makes for a data set or a run: its row of the stage table, filled in."""

from __future__ import annotations

from typing import NamedTuple

from taamctl.core import registry
from taamctl.core.data_set import DataSet
from taamctl.core.plain_values import Plain, canonical
from taamctl.params.eval_params import EvalParams
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams, LensParams, TrainParams
from taamctl.runtime.job import Context, Job
from taamctl.runtime.raw_files import raw_files


class Which(NamedTuple):
    """A run: data set, method, seed."""

    dataset: str
    method: str
    seed: int

    @property
    def label(self) -> str:
        """Return how messages name it."""
        return f"{self.dataset}/{self.method}/seed-{self.seed}"


def split(context: Context, source: DataSet) -> Job:
    """Return what splitting a data set makes."""
    own = context.params.plugin("datasets", source.name, source.meta.params)
    params = context.params.section(SplitParams)
    return Job(
        "split",
        source.name,
        params={"dataset": canonical(own), "split": canonical(params)},
        inputs=(),
        outputs=context.layout.files("split", source.name),
        plugin=source.name,
        asked={"split": params, f"datasets.{source.name}": own},
        raw=raw_files(context.data_root, source),
        flushes=True,
    )


def precompute(context: Context, source: DataSet) -> Job:
    """Return what propagating the features of a split data set makes."""
    params = context.params.section(PrecomputeParams)
    norm = params.resolved_norm(source.meta.feature_norm)
    return Job(
        "precompute",
        source.name,
        params={**canonical(params), "feature_norm": norm},
        inputs=context.layout.inputs("precompute", source.name),
        outputs=context.layout.files("precompute", source.name),
        plugin=source.name,
        asked={"precompute": params},
        flushes=True,
        unused=params.unused_libraries,
    )


def train(context: Context, which: Which, device: str) -> Job:
    """Return what training one method with one seed makes.

    Args:
        device: `cpu` or `cuda`, resolved.
    """
    own = context.params.plugin("methods", which.method, registry.method_params(which.method))
    section = context.params.section(TrainParams)
    recorded = {**canonical(section), "device": device}
    params = {"train": recorded, "method": canonical(own), "seed": which.seed}
    asked = {"train": section, f"methods.{which.method}": own}
    return _of_run(context, "train", which, params, asked, flushes=True)


def infer(context: Context, which: Which) -> Job:
    """Return what inference with one trained method makes."""
    params = context.params.section(InferParams)
    recorded = canonical(params)
    if params.router != "prototype":  # what its routers read besides
        lens = context.params.section(LensParams)
        recorded = {
            **recorded,
            "linear": {"router": canonical(lens.router), "temperature": lens.temperature},
        }
    return _of_run(context, "infer", which, recorded, {"infer": params}, flushes=True)


def evaluation(context: Context, which: Which) -> Job:
    """Return what evaluating one run makes."""
    params = context.params.section(EvalParams)
    return _of_run(context, "eval", which, canonical(params), {"eval": params})


def lens(context: Context, which: Which) -> Job:
    """Return what a look at one trained method makes."""
    params = context.params.section(LensParams)
    both = {"lens": canonical(params), "infer": canonical(context.params.section(InferParams))}
    return _of_run(context, "lens", which, both, {"lens": params}, flushes=True)


def _of_run(
    context: Context,
    stage: str,
    which: Which,
    params: Plain,
    asked: dict[str, Plain],
    *,
    flushes: bool = False,
) -> Job:
    return Job(
        stage,
        which.label,
        params=params,
        inputs=context.layout.inputs(stage, *which),
        outputs=context.layout.files(stage, *which),
        plugin=which.method,
        asked=asked,
        flushes=flushes,
    )
