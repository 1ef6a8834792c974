"""The lens section: AA and task-ID accuracy for every query unit, router and protocol, over
seeds, as tables.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from taamctl.core.errors import TaamctlError
from taamctl.report.collect import mean_std
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

Row = Mapping[str, Any]
NAME = "lens.json"
BEHIND = ("split", "precompute", "train")  # the stages that a lens file is made from
SAME = (
    "dataset",
    "method",
    "title",
    "profile",
    "scope",
    "memory_words",
    "averaging",
    "protocol",
    "part",
    "router",
    "mode",
    "unit",
    "size",
)
METRICS = ("aa", "aa_micro", "task_id_accuracy")
UNROUTED = ("none", "given")
NOTES = (
    "AA in per cent on the test part after the last task, class-balanced, in the method's own "
    "logit scope; in brackets the share of nodes that got the right task. ± is the population "
    "standard deviation over seeds.",
    "grouped: a query graph holds one task's nodes. mixed: all tasks' nodes in one induced graph, "
    "edges between tasks kept.",
    "graph, component, batch B, node: what one task-ID decision is made for. Batches are of nodes "
    "in random order, so in a mixed graph a batch mixes tasks.",
    "amp: nearest AMP prototype. class: nearest class mean. gaussian: shared covariance. ridge: "
    "regression in closed form. soft: the best of several tasks' experts, each within its own "
    "classes. smoothed: posterior averaged over the edges. –: no task ID is used. memory M: words "
    "in millions that the method keeps (parameters, sums and stored rows), the router's own not "
    "counted.",
    "[...]: rows of one method whose parameters differ; lens.csv names them by the same letters.",
    "One vote for a graph that mixes tasks gives all but one task's nodes to a wrong expert: where "
    "tasks may mix, decide per node.",
)


def files(evaluations: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the lens files of the very models that were evaluated, and of every other one what is
    to be said.

    Args:
        evaluations: the eval.json files; a lens file lies beside one.
    """
    shown, left_out = [], []
    for evaluation in evaluations:
        path = evaluation.with_name(NAME)
        if not path.is_file():
            continue
        dataset, method, seed = evaluation.parts[-4], evaluation.parts[-3], evaluation.parts[-2]
        layout, number = Layout(evaluation.parents[4]), seed.removeprefix("seed-")
        if _is_present(path, layout, (dataset, method, int(number))):
            shown.append(path)
            continue
        where = "" if layout.root == Path("outputs") else f" --outputs {layout.root}"
        left_out.append(
            f"the lens of {dataset} {method} seed {number} is not known to be of the present model "
            f"and is left out; renew it with: taamctl eval --lens --dataset {dataset} --method "
            f"{method} --seed {number}{where}"
        )
    return shown, left_out


def _is_present(path: Path, layout: Layout, run: tuple[str, str, int]) -> bool:
    """Tell whether a lens file was made from the split, the features and the model that are there
    now.

    Where one of these files is gone, the record of what infer.h5 was made from stands in for it.
    """
    made_from = _inputs(path)
    if made_from is None:
        return False
    inferred = layout.file("infer", *run)
    recorded = (_inputs(inferred) or {}) if inferred.is_file() else {}
    for stage in BEHIND:
        file = layout.file(stage, *run)
        now = _digest_now(file) if file.is_file() else recorded.get(file.name)
        if now is None or now != made_from.get(file.name):
            return False
    return True


def _digest_now(file: Path) -> str:
    known = _record(file).get("outputs", {}).get(file.name)
    return provenance.digest_of(file, known)


def _inputs(path: Path) -> dict[str, str] | None:
    """Return the recorded checksums of what an artefact was made from, by file name; None where
    there is no record.
    """
    key = _record(path).get("key")
    found = key.get("inputs") if isinstance(key, dict) else None
    return {Path(n).name: sha256 for n, sha256 in found.items()} if found else None


def _record(path: Path) -> dict[str, Any]:
    try:
        record = atomic_files.read_json(provenance.sidecar_of(path))
    except (TaamctlError, OSError):
        return {}
    return record if isinstance(record, dict) else {}


def rows(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return one row per cell, metrics as mean and population standard deviation over seeds.

    Raises:
        TaamctlError: a file that cannot be read.
    """
    groups: dict[str, list[Row]] = {}
    for path in paths:
        made = atomic_files.read_json(path, "taamctl eval --lens")
        try:
            settings = json.dumps(
                {
                    **made["settings"],
                    "train": {k: v for k, v in made["settings"]["train"].items() if k != "seed"},
                },
                sort_keys=True,
            )
            for cell in made["cells"]:
                whole = {
                    **{k: v for k, v in made.items() if k not in ("cells", "settings")},
                    **cell,
                    "settings": _digest(settings),
                }
                groups.setdefault(json.dumps([settings, *(whole[k] for k in SAME)]), []).append(
                    whole
                )
        except (KeyError, TypeError, AttributeError):
            raise TaamctlError(
                f"{path} is no lens file that this taamctl can read",
                "make it again with: taamctl eval --lens --force",
            ) from None
    out = []
    for members in groups.values():
        row = {k: members[0][k] for k in (*SAME, "settings")} | {
            "seeds": sorted(m["seed"] for m in members)
        }
        for name in METRICS:
            row[name], row[f"{name}_std"] = mean_std([m[name] for m in members])
        out.append(row)
    return out


def _digest(settings: str) -> str:
    return hashlib.sha256(settings.encode()).hexdigest()[:8]


def unit_names(found: Sequence[Row], most: int) -> list[tuple[str, int]]:
    """Return the units of the rows, largest first, of the batches at most `most`, evenly chosen."""
    batches = sorted({r["size"] for r in found if r["unit"] == "batch"}, reverse=True)
    if len(batches) > most:
        batches = [batches[round(i * (len(batches) - 1) / max(1, most - 1))] for i in range(most)]
    return [("graph", 0), ("component", 0), *(("batch", b) for b in batches), ("node", 0)]


def table(
    found: Sequence[Row], decimals: int, most: int = 9
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return column names and lines: one line per (data set, method, protocol, router, mode) of
    the test part, a column per unit.
    """
    units = unit_names(found, most)
    lines: dict[tuple[Any, ...], dict[tuple[str, int], str]] = {}
    settings: dict[tuple[str, str], set[str]] = {}
    for r in found:
        settings.setdefault((r["dataset"], r["method"]), set()).add(r["settings"])
    for r in (r for r in found if r["part"] == "test"):
        name = f"{r['method']} ({r['profile']})" if r["profile"] else r["method"]
        if len(settings[r["dataset"], r["method"]]) > 1:
            name += f" [{r['settings']}]"
        router = {"none": "–", "given": "given"}.get(
            r["router"], r["router"] + ("" if r["mode"] == "hard" else f", {r['mode']}")
        )
        key = (r["dataset"], name, r["protocol"], router, f"{r['memory_words'] / 1e6:.2f}")
        lines.setdefault(key, {})[r["unit"], r["size"]] = _cell(r, decimals)
    columns = (
        "dataset",
        "method",
        "protocol",
        "router",
        *(f"batch {n}" if n else kind for kind, n in units),
        "memory M",
    )
    return columns, [
        (*key[:4], *(cells.get(u, "") for u in units), key[4]) for key, cells in lines.items()
    ]


def _cell(row: Row, decimals: int) -> str:
    spread = (
        f" ± {100 * row['aa_std']:.{decimals}f}"
        if len(row["seeds"]) > 1 and row["aa_std"] is not None
        else ""
    )
    aa = "–" if row["aa"] is None else f"{100 * row['aa']:.{decimals}f}{spread}"
    return (
        aa
        if row["task_id_accuracy"] is None
        else f"{aa} ({100 * row['task_id_accuracy']:.{decimals}f})"
    )


def markdown(found: Sequence[Row], decimals: int, left_out: Sequence[str] = ()) -> str:
    """Return the section as Markdown; empty without rows and without anything left out."""
    if not found:
        return "".join(f"\n{line[:1].upper()}{line[1:]}.\n" for line in left_out)
    columns, lines = table(found, decimals)
    out = [
        "",
        "## Lens: query units, routers and protocols",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
    ]
    return (
        "\n".join(
            [*out, *("| " + " | ".join(line) + " |" for line in lines), "", *NOTES, *left_out]
        )
        + "\n"
    )


def comma_separated(found: Sequence[Row]) -> str:
    """Return all rows, validation too, as CSV with unrounded fractions."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names = [*SAME, "settings", *(name for m in METRICS for name in (m, f"{m}_std"))]
    writer.writerow([*names, "seeds"])
    for r in found:
        writer.writerow(
            [
                *(
                    "" if r[n] is None else repr(r[n]) if isinstance(r[n], float) else r[n]
                    for n in names
                ),
                " ".join(map(str, r["seeds"])),
            ]
        )
    return buffer.getvalue()
