"""`taamctl train`."""

from __future__ import annotations

from taamctl.cli import common


def command(
    datasets: common.Datasets = None, methods: common.Methods = None, seeds: common.Seeds = None,
    params: common.ParamsFile = None, overrides: common.Overrides = None, outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None, force: common.Force = False, no_wait: common.NoWait = False, quiet: common.Quiet = False,
) -> None:
    """Train each method over the task stream; an interrupted run goes on at the first unfinished task."""
    from taamctl.stages import train

    context = common.make_context(params=params, overrides=overrides, outputs=outputs, data_root=data_root, force=force, no_wait=no_wait,
                                  quiet=quiet, datasets=datasets, methods=methods, seeds=seeds, check_methods=True)
    for dataset, method, seed in common.grid(context):
        train.run(context, dataset, method, seed)
