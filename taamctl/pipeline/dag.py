"""dvc.yaml, made from the stage table: the same in a checkout and in a folder that `taamctl init`
sets up.
"""

from __future__ import annotations

import io

from ruamel.yaml import YAML

from taamctl.pipeline.stage_keys import FILE
from taamctl.runtime.layout import OUTPUTS
from taamctl.runtime.provenance import sidecar_of
from taamctl.runtime.stage_table import TABLE, Stage

HEAD = """\
# The DAG: split -> precompute -> train -> infer -> eval -> report, over run.datasets x run.methods
# x run.seeds of params.yaml. It is made from taamctl's own table of stages. Of graphs of your own
# and of debian the report has a look at the mixed graph too (lens); of others that folder is empty.
#
# A stage depends on the sections of params.yaml that it reads, on the artefacts that it reads, and
# on its key: the code that can reach its bytes, the libraries that this code uses, raw data. The
# keys are written anew each time (2 s), so `dvc status` always lists that stage; the others
# rerun where their own key changed. Artefacts persist: what `taamctl run` has made, `dvc repro`
# takes as it is, and the other way round.

"""
KEYS = OUTPUTS / FILE
PLOTS: dict[str, dict[str, object]] = {
    "curve.csv": {
        "template": "linear",
        "x": "stage",
        "y": "aa",
        "title": "average accuracy after each task",
    },
    "task_id.csv": {
        "template": "confusion",
        "x": "decision",
        "y": "task",
        "title": "task-ID decisions after the last task",
    },
    "loss.csv": {
        "template": "simple",
        "x": "step",
        "y": "loss",
        "title": "training loss, the epochs of all tasks one after another",
    },
}
KINDS = {"metrics.json": "metrics", **dict.fromkeys(PLOTS, "plots")}
MATRIX = {
    "dataset": {"dataset": "${run.datasets}"},
    "run": {"dataset": "${run.datasets}", "method": "${run.methods}", "seed": "${run.seeds}"},
}
ITEM = {"dataset": "${item.dataset}", "method": "${item.method}"}


def text() -> str:
    """Return dvc.yaml."""
    stages: dict[str, object] = {"keys": _keys_stage()}
    stages |= {name: _stage(row) for name, row in TABLE.items()}
    editor = YAML()
    editor.indent(mapping=2, sequence=4, offset=2)
    editor.width = 10_000
    buffer = io.StringIO()
    editor.dump({"stages": stages}, buffer)
    return HEAD + buffer.getvalue()


def _keys_stage() -> dict[str, object]:
    return {
        "cmd": "taamctl keys",
        "always_changed": True,
        "outs": [{KEYS.as_posix(): {"persist": True}}],
    }


def _stage(row: Stage) -> dict[str, object]:
    found: dict[str, object] = {}
    if row.each in MATRIX:
        found["matrix"] = dict(MATRIX[row.each])
    found["cmd"] = _command(row)
    deps = [_dependency(row, TABLE[name]) for name in row.reads]
    if deps:
        found["deps"] = deps
    found["params"] = [
        *(section.format(**ITEM) for section in row.sections),
        {KEYS.as_posix(): [_key_name(row)]},
    ]
    return {**found, **_outputs(row)}


def _outputs(row: Stage) -> dict[str, list[dict[str, object]]]:
    """Return the files of a stage by the kind that DVC has for them; the sidecar is one of them:
    what reuse needs travels with the artefact.
    """
    if row.own_only or not row.files:  # a folder whose files depend on what is run
        return {"outs": [{_folder(row): {"persist": True}}]}
    found: dict[str, list[dict[str, object]]] = {"outs": []}
    for name in row.files:
        kind = KINDS.get(name, "outs")
        settings = {"persist": True, **PLOTS.get(name, {})}
        found.setdefault(kind, []).append({f"{_folder(row)}/{name}": settings})
    sidecar = sidecar_of(OUTPUTS / row.files[0]).name
    found["outs"].append({f"{_folder(row)}/{sidecar}": {"persist": True}})
    return found


def _command(row: Stage) -> str:
    options = "".join(f" --{name} ${{item.{name}}}" for name in MATRIX.get(row.each, ()))
    return f"taamctl {row.name}{options}{' --own' * row.own_only}"


def _key_name(row: Stage) -> str:
    """Return where a stage's key stands in the file of keys."""
    plugin = {"datasets": ".${item.dataset}", "methods": ".${item.method}"}
    return row.name + plugin.get(row.plugin, "")


def _dependency(row: Stage, read: Stage) -> str:
    """Return what a stage depends on: a main file, or of many runs their whole folder."""
    if row.each == "whole":
        return f"{OUTPUTS}/{read.name}"
    return f"{_folder(read)}/{read.files[0]}"


def _folder(row: Stage) -> str:
    parts = {
        "whole": "",
        "dataset": "/${item.dataset}",
        "run": "/${item.dataset}/${item.method}/seed-${item.seed}",
    }
    return f"{OUTPUTS}/{row.name}{parts[row.each]}"
