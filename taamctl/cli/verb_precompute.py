"""`taamctl precompute`."""

from __future__ import annotations

from taamctl.cli import common
from taamctl.params.run_params import RunParams


def command(
    datasets: common.Datasets = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None,
    max_memory: common.MaxMemory = None,
    force: common.Force = False,
    no_wait: common.NoWait = False,
    quiet: common.Quiet = False,
) -> None:
    """Propagate features over every part's own edges: H = S^k X, hop means and profiles."""
    from taamctl.stages import precompute

    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=data_root,
        force=force,
        no_wait=no_wait,
        quiet=quiet,
        datasets=datasets,
        max_memory=max_memory,
    )
    for dataset in context.params.section(RunParams).datasets:
        precompute.run(context, dataset)
