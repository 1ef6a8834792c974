"""`taamctl eval`."""

from __future__ import annotations

from taamctl.cli import common


def command(
    datasets: common.Datasets = None, methods: common.Methods = None, seeds: common.Seeds = None,
    params: common.ParamsFile = None, overrides: common.Overrides = None, outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None, force: common.Force = False, no_wait: common.NoWait = False, quiet: common.Quiet = False,
) -> None:
    """Evaluate: accuracy matrices for all logit scopes, AA, BWT, AF, task-ID accuracy, cost."""
    from taamctl.stages import eval

    context = common.make_context(params=params, overrides=overrides, outputs=outputs, data_root=data_root, force=force, no_wait=no_wait,
                                  quiet=quiet, datasets=datasets, methods=methods, seeds=seeds)
    for dataset, method, seed in common.grid(context):
        eval.run(context, dataset, method, seed)
