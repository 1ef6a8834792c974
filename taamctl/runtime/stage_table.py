"""The stages in one table: what each makes, what it reads, and what its bytes depend on.

Paths (`layout`), keys (`artefact_key`), dvc.yaml (`pipeline/dag`) and `taamctl status` follow from
it. A test runs every stage and holds what it opens, reads and calls against its row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One row.

    Attributes:
        name: the stage, its verb, and its section of params.yaml.
        each: what there is one of: `dataset`, `run` (data set, method, seed) or `whole`.
        files: what it writes, the file with the lock and the sidecar first; of a report the names
            depend on what is reported.
        reads: the stages whose first file it reads, in order.
        sections: the sections of params.yaml that it reads; `{dataset}` and `{method}` stand for
            names.
        plugin: the kind of plug-in whose code it runs: `datasets`, `methods` or empty.
        module: where its code begins.
        own_only: a run makes it of graphs of one's own and of the packaged one (`own_graphs`); of
            others its folder stays empty.
    """

    name: str
    each: str
    files: tuple[str, ...]
    reads: tuple[str, ...]
    sections: tuple[str, ...]
    plugin: str
    module: str
    own_only: bool = False


_TABLE = (
    Stage(
        name="split",
        each="dataset",
        files=("split.h5",),
        reads=(),
        sections=("split", "datasets.{dataset}"),
        plugin="datasets",
        module="taamctl.stages.split",
    ),
    Stage(
        name="precompute",
        each="dataset",
        files=("features.h5",),
        reads=("split",),
        sections=("precompute", "datasets.{dataset}"),
        plugin="datasets",
        module="taamctl.stages.precompute",
    ),
    Stage(
        name="train",
        each="run",
        files=("train.h5",),
        reads=("precompute",),
        sections=("train", "methods.{method}"),
        plugin="methods",
        module="taamctl.stages.train",
    ),
    Stage(
        name="infer",
        each="run",
        files=("infer.h5",),
        reads=("precompute", "train"),
        sections=("infer", "lens"),
        plugin="methods",
        module="taamctl.stages.infer",
    ),
    Stage(
        name="eval",
        each="run",
        files=("eval.json", "metrics.json", "curve.csv", "task_id.csv", "loss.csv"),
        reads=("split", "infer", "train"),
        sections=("eval",),
        plugin="",
        module="taamctl.stages.eval",
    ),
    Stage(
        name="lens",
        each="run",
        files=("lens.json",),
        reads=("split", "precompute", "train", "infer"),
        sections=("lens", "infer"),
        plugin="methods",
        module="taamctl.pipeline.lens_run",
        own_only=True,
    ),
    Stage(
        name="report",
        each="whole",
        files=(),
        reads=("eval", "lens"),
        sections=("report", "run"),
        plugin="",
        module="taamctl.stages.report",
    ),
)
TABLE = {stage.name: stage for stage in _TABLE}
# What is kept and reused as stages are, and is none: no other row reads it, DVC does not run it.
ALONE = (
    Stage(
        name="stream",
        each="run",
        files=("stream.h5",),
        reads=(),
        sections=("precompute", "train", "bank", "methods.{method}"),
        plugin="methods",
        module="taamctl.prequential.replay_file",
    ),
)
ROWS = {**TABLE, **{row.name: row for row in ALONE}}
# Those that every run goes through, in order.
STAGES = tuple(name for name, stage in TABLE.items() if not stage.own_only)
PER_RUN = tuple(name for name in STAGES if TABLE[name].each == "run")
