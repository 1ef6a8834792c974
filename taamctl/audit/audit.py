"""Prove on given data and methods that training sees training nodes only: from artefacts, and by
perturbing everything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from taamctl.audit import bank_guard, checks, stream_guard
from taamctl.audit.checks import BASIS, Check, judged
from taamctl.audit.isolated import TrainingRun
from taamctl.audit.variants import Case, Run, Variant, changed
from taamctl.core import registry, subnormals
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import canonical, canonical_json
from taamctl.graph.canonical import content_hash
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import TrainParams
from taamctl.runtime import provenance
from taamctl.runtime.job import Context
from taamctl.store import leftovers
from taamctl.store.artefacts import Artefact
from taamctl.store.precompute_kind import PRECOMPUTE
from taamctl.store.split_kind import SPLIT
from taamctl.store.train_kind import TRAIN

CHANGES = {
    "features": "the features of other nodes",
    "edges": "the edges that touch other nodes",
    "labels": "val and test labels",
}
OTHER_CODE = "is not what {stage} gives now (other code, versions or machine"


@subnormals.flushed()  # as the stages whose artefacts it looks at
def audit(
    context: Context,
    dataset: str,
    runs: Sequence[Run],
    *,
    banks: bool = False,
    streams: bool = False,
) -> list[Check]:
    """Return every check of one data set and of the runs (method, seed) on it.

    A split and features that are missing are made in the outputs; what is there is audited as it is
    and never replaced. Trainings go into a temporary folder; a train.h5 with these parameters that
    is there already is what they are compared with.

    Args:
        banks: look at a bank of every run too, which is taught, updated and made to forget.
        streams: look at a replay of every run too.

    Raises:
        TaamctlError: an artefact was made with other parameters or from other raw data, or a method
            cannot be trained at all.
    """
    from taamctl.stages import precompute, split

    source = data_set(dataset)
    own = context.params.plugin("datasets", dataset, source.meta.params)
    layout = context.layout
    params = context.params.section(SplitParams)
    file = layout.file("split", dataset)
    command = layout.command("split", dataset)
    if not file.is_file():
        split.run(context, dataset)
    with Artefact(file, SPLIT, command) as stored:
        _require_same(stored, {"dataset": canonical(own), "split": canonical(params)}, command)
        arrays = checks.read_split(stored)
        graph_sha256 = stored.attribute("graph_sha256")
    raw = source.load(context.data_root, own)
    if content_hash(raw) != graph_sha256:
        raise TaamctlError(
            f"the raw data of {dataset} is not what {file} was made from", f"run {command} again"
        )
    with leftovers.scratch(layout.root, ".audit-") as temporary:
        case = Case(context, dataset, source, raw, arrays, temporary.resolve())
        as_given = params.parts == "as_given"
        unlabelled_as = source.meta.unlabelled_as
        found = checks.structure(arrays, raw, case.used(raw), unlabelled_as, as_given=as_given)
        if not _failed(found):
            found.append(checks.duplicates(arrays, raw))
            if not layout.file("precompute", dataset).is_file():
                precompute.run(context, dataset)
            found.append(_features(case))
        if _failed(found):
            return [*found, Check("train", "perturbations", "not run", BASIS)]
        found += _Trial(case, runs).checks()
        if banks:
            found += chain.from_iterable(bank_guard.guard(case, run) for run in runs)
        if streams:
            found += chain.from_iterable(stream_guard.guard(case, run) for run in runs)
        return found


def _failed(found: Iterable[Check]) -> bool:
    return any(check.verdict == "failed" for check in found)


def _require_same(stored: Artefact, wanted: dict[str, object], command: str) -> None:
    """Refuse an artefact of other parameters: the audit would speak of something else."""
    tree = json.loads(canonical_json(wanted))
    if tree == stored.params:
        return
    now, then = _flat(tree), _flat(stored.params)
    keys = [key for key in sorted({*now, *then}) if now.get(key) != then.get(key)]
    what = ", ".join(f"{key} {then.get(key)} (now {now.get(key)})" for key in keys)
    raise TaamctlError(
        f"{stored.path} was made with {what}",
        f"make it again with these parameters ({command}), or audit in another folder with "
        "--outputs",
    )


def _flat(tree: dict[str, object]) -> dict[str, object]:
    """Return the values of a tree of parameters by `section.key`."""
    flat: dict[str, object] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def _features(case: Case) -> Check:
    params = case.context.params.section(PrecomputeParams)
    command = case.context.layout.command("precompute", case.dataset)
    norm = params.resolved_norm(case.source.meta.feature_norm)
    with Artefact(case.stored("precompute"), PRECOMPUTE, command) as stored:
        _require_same(stored, {**canonical(params), "feature_norm": norm}, command)
        return checks.train_features(
            case.split, case.raw, case.used(case.raw), stored, params, norm
        )


class _Trial:
    """Train in every variant, and compare.

    Attributes:
        reference: the train.h5 that a run is compared with.
        fresh: runs whose reference was trained by the audit.
        opened: what a run opened in any variant and should not have.
        suspects: (run, change) -> the train.h5 that differs from the reference.
    """

    def __init__(self, case: Case, runs: Sequence[Run]) -> None:
        self.case, self.runs = case, runs
        self.reference: dict[Run, Path] = {}
        self.fresh: set[Run] = set()
        self.opened: dict[Run, list[str]] = {run: [] for run in runs}
        self.suspects: dict[tuple[Run, str], Path] = {}
        self.moved = 0

    def checks(self) -> list[Check]:
        """Return the checks of all variants."""
        found = self._references()
        for kind, change in CHANGES.items():
            self._tell(f"perturbing {change}")
            with self.case.perturbed(kind) as variant:
                found.append(self._compare_features(variant, kind))
                if _failed(found[-1:]):
                    subjects = (f"{self._label(run)}: {kind}" for run in self.reference)
                    found += [Check("train", subject, "not run", BASIS) for subject in subjects]
                else:
                    found += self._compare_training(variant, kind)
        found = self._judged(found)
        return [*found, *(self._reads(run) for run in self.runs if run in self.reference)]

    def _tell(self, text: str) -> None:
        self.case.context.tell(f"audit {self.case.dataset}: {text}")

    def _label(self, run: Run) -> str:
        return f"{self.case.dataset}/{run[0]}/seed-{run[1]}"

    def _references(self) -> list[Check]:
        """Find or train what runs are compared with, and return the checks of their budgets."""
        layout = self.case.context.layout
        stored = {run: layout.file("train", self.case.dataset, *run) for run in self.runs}
        self.reference = {run: file for run, file in stored.items() if self._is_same(file, run)}
        wanted = [run for run in self.runs if run not in self.reference]
        results, files = self._train_plain(wanted, "training on the data as it is")
        self.reference |= files
        self.fresh = set(files)
        over = []
        for run, result in results.items():
            if result.kind == "OverBudget":
                over.append(Check("budget", self._label(run), "failed", result.error))
            elif result.error:
                raise TaamctlError(
                    f"{self._label(run)} cannot be trained: {result.error}", result.hint
                )
            self.opened[run] += result.opened
        return [
            *over,
            *(
                Check("budget", self._label(run), "ok", _budget(self.reference[run]))
                for run in self.runs
                if run in self.reference
            ),
        ]

    def _is_same(self, file: Path, run: Run) -> bool:
        """Tell whether a train.h5 is there and was made with these parameters, on whatever
        device.
        """
        if not file.is_file():
            return False
        context, (name, seed) = self.case.context, run
        train = canonical(context.params.section(TrainParams))
        own = canonical(context.params.plugin("methods", name, registry.method_params(name)))
        wanted = json.loads(canonical_json({"train": train, "method": own, "seed": seed}))
        command = context.layout.command("train", self.case.dataset, *run)
        with Artefact(file, TRAIN, command) as stored:
            then = stored.params
        if train["device"] == "auto":
            then["train"]["device"] = "auto"
        if then != wanted:
            self._tell(f"{file} has other parameters: training anew")
        return bool(then == wanted)

    def _train_plain(
        self, runs: Sequence[Run], text: str
    ) -> tuple[dict[Run, TrainingRun], dict[Run, Path]]:
        """Train on the data as it is; return how it went, and the train.h5 of what came to its
        end.
        """
        if not runs:
            return {}, {}
        self._tell(text)
        with self.case.plain("plain", computed=False) as variant:
            results = self.case.train(variant, runs)
            done = [run for run, result in results.items() if not result.error]
            return results, {run: self._keep(variant, run) for run in done}

    def _keep(self, variant: Variant, run: Run) -> Path:
        """Move a train.h5 out of its variant, which goes away."""
        self.moved += 1
        target = self.case.temporary / f"train-{self.moved}.h5"
        return variant.layout.file("train", self.case.dataset, *run).rename(target)

    def _compare_features(self, variant: Variant, kind: str) -> Check:
        """Compare the train groups of a perturbed variant's features with the stored ones."""
        what = ("precompute", f"{self.case.dataset}: {kind}")
        stored = self.case.stored("precompute")
        computed = variant.layout.file("precompute", self.case.dataset)
        moved = changed(stored, computed, "train")
        if not moved:
            equal = f"train groups equal byte for byte after {variant.perturbed:,} changes"
            others = sum(len(changed(stored, computed, part)) for part in ("val", "test"))
            if not others:
                return Check(*what, "warning", f"{equal}, but neither do val and test differ")
            return Check(*what, "ok", f"{equal} ({others} arrays of val and test differ)")
        culprit = _changes(moved, kind)
        with self.case.plain("again", computed=True) as plain:
            if changed(stored, plain.layout.file("precompute", self.case.dataset), "train"):
                command = self.case.context.layout.command("precompute", self.case.dataset)
                other = OTHER_CODE.format(stage="precompute")
                culprit = f"{stored} {other}): make it again with {command} --force"
        return Check(*what, "failed", culprit)

    def _compare_training(self, variant: Variant, kind: str) -> list[Check]:
        """Train in a perturbed variant; a difference is judged later, against training anew."""
        found = []
        results = self.case.train(variant, list(self.reference), self.reference)
        for run, result in results.items():
            self.opened[run] += result.opened
            culprit = None
            if result.error:
                culprit = f"training stops when {CHANGES[kind]} change: {result.error}"
            elif not _same(
                variant.layout.file("train", self.case.dataset, *run), self.reference[run]
            ):
                self.suspects[run, kind] = self._keep(variant, run)
            subject = f"{self._label(run)}: {kind}"
            found.append(judged("train", subject, culprit, "train.h5 equal byte for byte"))
        return found

    def _judged(self, found: list[Check]) -> list[Check]:
        """Replace the checks of suspects: tell a leak from training that gives other bytes on
        the same data.
        """
        wanted = list(dict.fromkeys(run for run, _ in self.suspects))
        _, again = self._train_plain(wanted, "training again on the data as it is")
        culprits = {
            f"{self._label(run)}: {kind}": self._culprit(run, kind, file, again.get(run))
            for (run, kind), file in self.suspects.items()
        }
        return [
            Check("train", c.subject, "failed", culprits[c.subject])
            if c.check == "train" and c.subject in culprits
            else c
            for c in found
        ]

    def _culprit(self, run: Run, kind: str, file: Path, again: Path | None) -> str:
        reference = self.reference[run]
        moved = changed(reference, file) or ["the file"]
        if again is None:
            return (
                f"{moved[0]} changes, and training does not work a second time on the data as it is"
            )
        if _same(again, reference):
            return _changes(moved, kind)
        first = (changed(reference, again) or ["the file"])[0]
        if run not in self.fresh and _same(again, file):
            command = self.case.context.layout.command("train", self.case.dataset, *run)
            return (
                f"{first} of {reference} {OTHER_CODE.format(stage='training')}, or another run of "
                f"the same process): make it again with {command} --force"
            )
        return (
            f"{first} changes from one training to the next on the same data: nothing can be told "
            "before it is reproducible"
        )

    def _reads(self, run: Run) -> Check:
        opened = [_short(Path(path)) for path in dict.fromkeys(self.opened[run])]
        culprit = None
        if opened:
            more = f" and {len(opened) - 1} more" if len(opened) > 1 else ""
            culprit = f"training opens {opened[0]}{more}"
        right = "training opens features.h5 and no other artefact or raw file"
        return judged("reads", self._label(run), culprit, right)


def _changes(moved: list[str], kind: str) -> str:
    return f"{moved[0]} changes when {CHANGES[kind]} change; {len(moved)} arrays in all"


def _same(left: Path, right: Path) -> bool:
    return provenance.sha256(left) == provenance.sha256(right)


def _short(path: Path) -> str:
    """Return a path below the working folder as people write it."""
    here = Path.cwd().resolve()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _budget(trained: Path) -> str:
    with Artefact(trained, TRAIN) as artefact:
        stored = json.loads(artefact.attribute("facts"))["stored"]
    return f"training held it to the {stored['rows']:,} rows of earlier data that it declares"
