"""Prove on given data and methods that training sees training nodes only: from artefacts, and by
perturbing everything else.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taamctl.audit import checks
from taamctl.audit.checks import Check
from taamctl.audit.isolated import TrainingRun
from taamctl.audit.perturb import KINDS
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
from taamctl.store.artefacts import Artefact

CHANGES = {
    "features": "the features of other nodes",
    "edges": "the edges that touch other nodes",
    "labels": "val and test labels",
}
BASIS = "what it builds on is wrong"


@subnormals.flushed()  # as the stages whose artefacts it looks at
def audit(context: Context, dataset: str, runs: Sequence[Run]) -> list[Check]:
    """Return every check of one data set and of the runs (method, seed) on it.

    A split and features that are missing are made in the outputs; what is there is audited as it is
    and never replaced. Trainings go into a temporary folder; a train.h5 with these parameters that
    is there already is what they are compared with.

    Raises:
        TaamctlError: an artefact was made with other parameters or from other raw data, or a method
            cannot be trained at all.
    """
    from taamctl.stages import precompute, split

    source = data_set(dataset)
    own = context.params.plugin("datasets", dataset, source.meta.params)
    layout = context.layout
    if not layout.file("split", dataset).is_file():
        split.run(context, dataset)
    with Artefact(layout.file("split", dataset), "split", layout.command("split", dataset)) as made:
        wanted = {
            "dataset": canonical(own),
            "split": canonical(context.params.section(SplitParams)),
        }
        _require_same(made, wanted, layout.command("split", dataset))
        arrays, graph_sha256 = checks.read_split(made), made.attribute("graph_sha256")
    raw = source.load(context.data_root, own)
    if content_hash(raw) != graph_sha256:
        raise TaamctlError(
            f"the raw data of {dataset} is not what {layout.file('split', dataset)} was made from",
            f"run {layout.command('split', dataset)} again",
        )
    with tempfile.TemporaryDirectory(dir=layout.root, prefix=".audit-") as temporary:
        case = Case(context, dataset, source, raw, arrays, Path(temporary).resolve())
        found = checks.structure(
            arrays,
            raw,
            case.used(raw),
            source.meta.unlabelled_as,
            as_given=context.params.section(SplitParams).parts == "as_given",
        )
        if not _failed(found):
            found.append(checks.duplicates(arrays, raw))
            if not layout.file("precompute", dataset).is_file():
                precompute.run(context, dataset)
            found.append(_features(case))
        if _failed(found):
            return [*found, Check("train", "perturbations", "not run", BASIS)]
        return [*found, *_Trial(case, runs).checks()]


def _failed(found: Sequence[Check]) -> bool:
    return any(c.verdict == "failed" for c in found)


def _require_same(made: Artefact, wanted: Any, command: str) -> None:
    """Refuse an artefact of other parameters: the audit would speak of something else."""
    now, then = json.loads(canonical_json(wanted)), made.params
    if now != then:
        flat = [
            {f"{k}.{n}": v for k, s in tree.items() if isinstance(s, dict) for n, v in s.items()}
            | {k: v for k, v in tree.items() if not isinstance(v, dict)}
            for tree in (now, then)
        ]
        what = [
            f"{k} {flat[1].get(k)} (now {flat[0].get(k)})"
            for k in sorted({*flat[0], *flat[1]})
            if flat[0].get(k) != flat[1].get(k)
        ]
        raise TaamctlError(
            f"{made.path} was made with {', '.join(what)}",
            f"make it again with these parameters ({command}), or audit in another folder with "
            "--outputs",
        )


def _features(case: Case) -> Check:
    params, command = (
        case.context.params.section(PrecomputeParams),
        case.context.layout.command("precompute", case.dataset),
    )
    norm = params.resolved_norm(case.source.meta.feature_norm)
    with Artefact(case.stored("precompute"), "precompute", command) as stored:
        _require_same(stored, {**canonical(params), "feature_norm": norm}, command)
        return checks.train_features(
            case.split, case.raw, case.used(case.raw), stored, params, norm
        )


@dataclass
class _Trial:
    """Train in every variant, and compare.

    Attributes:
        reference: the train.h5 that a run is compared with.
        fresh: runs whose reference was trained by the audit.
        opened: what a run opened in any variant and should not have.
        suspects: (run, change) -> the train.h5 that differs from the reference.
    """

    case: Case
    runs: Sequence[Run]
    reference: dict[Run, Path] = field(default_factory=dict)
    fresh: set[Run] = field(default_factory=set)
    opened: dict[Run, list[str]] = field(default_factory=dict)
    suspects: dict[tuple[Run, str], Path] = field(default_factory=dict)
    kept: int = 0

    def checks(self) -> list[Check]:
        """Return the checks of all variants."""
        found = self._references()
        for kind in KINDS:
            self._say(f"perturbing {CHANGES[kind]}")
            with self.case.perturbed(kind) as variant:
                first = self._compare_features(variant, kind)
                found.append(first)
                if first.verdict == "failed":
                    found += [
                        Check("train", f"{self._label(run)}: {kind}", "not run", BASIS)
                        for run in self.reference
                    ]
                else:
                    found += self._compare_training(variant, kind)
        found = self._judged(found)
        return [*found, *(self._reads(run) for run in self.runs if run in self.reference)]

    def _say(self, text: str) -> None:
        self.case.context.tell(f"audit {self.case.dataset}: {text}")

    def _label(self, run: Run) -> str:
        return f"{self.case.dataset}/{run[0]}/seed-{run[1]}"

    def _references(self) -> list[Check]:
        """Find or train what runs are compared with, and return the checks of their budgets."""
        for run in self.runs:
            at = self.case.context.layout.file("train", self.case.dataset, *run)
            if self._is_asked_for(at, run):
                self.reference[run] = at
        wanted = [run for run in self.runs if run not in self.reference]
        found = []
        if wanted:
            self._say("training on the data as it is")
            with self.case.plain("plain", computed=False) as variant:
                for run, told in self.case.train(variant, wanted).items():
                    if told.kind == "OverBudget":
                        found.append(Check("budget", self._label(run), "failed", told.error))
                        continue
                    if told.error:
                        raise TaamctlError(
                            f"{self._label(run)} cannot be trained: {told.error}", told.hint
                        )
                    self.fresh.add(run)
                    self._note_opened(run, told)
                    self.reference[run] = self._keep(variant, run)
        return [
            *found,
            *(
                Check("budget", self._label(run), "ok", _budget(self.reference[run]))
                for run in self.runs
                if run in self.reference
            ),
        ]

    def _is_asked_for(self, at: Path, run: Run) -> bool:
        """Tell whether a train.h5 is there and was made with these parameters, on whatever
        device.
        """
        if not at.is_file():
            return False
        params, method = self.case.context.params, registry.load("taamctl.methods", run[0])
        train = canonical(params.section(TrainParams))
        wanted = {
            "train": train,
            "method": canonical(params.plugin("methods", run[0], method.Params)),
            "seed": run[1],
        }
        with Artefact(
            at, "train", self.case.context.layout.command("train", self.case.dataset, *run)
        ) as stored:
            then = stored.params
        if train["device"] == "auto":
            then["train"]["device"] = "auto"
        if then != json.loads(canonical_json(wanted)):
            self._say(f"{at} has other parameters: training anew")
            return False
        return True

    def _keep(self, variant: Variant, run: Run) -> Path:
        """Move a train.h5 out of its variant, which goes away."""
        self.kept += 1
        return variant.layout.file("train", self.case.dataset, *run).rename(
            self.case.temporary / f"train-{self.kept}.h5"
        )

    def _note_opened(self, run: Run, told: TrainingRun) -> None:
        self.opened.setdefault(run, []).extend(told.opened)

    def _compare_features(self, variant: Variant, kind: str) -> Check:
        """Compare the train groups of a perturbed variant's features with the stored ones."""
        subject, stored = f"{self.case.dataset}: {kind}", self.case.stored("precompute")
        made = variant.layout.file("precompute", self.case.dataset)
        moved = changed(stored, made, "train")
        others = len(changed(stored, made, "val")) + len(changed(stored, made, "test"))
        if not moved:
            return Check(
                "precompute",
                subject,
                "ok" if others else "warning",
                f"train groups equal byte for byte after {variant.perturbed:,} changes"
                + (
                    f" ({others} arrays of val and test differ)"
                    if others
                    else ", but neither do val and test differ"
                ),
            )
        with self.case.plain("again", computed=True) as plain:
            if changed(stored, plain.layout.file("precompute", self.case.dataset), "train"):
                command = self.case.context.layout.command("precompute", self.case.dataset)
                return Check(
                    "precompute",
                    subject,
                    "failed",
                    f"{stored} is not what precompute gives now (other code, versions or "
                    f"machine): make it again with {command} --force",
                )
        return Check(
            "precompute",
            subject,
            "failed",
            f"{moved[0]} changes when {CHANGES[kind]} change; {len(moved)} arrays in all",
        )

    def _compare_training(self, variant: Variant, kind: str) -> list[Check]:
        """Train in a perturbed variant; a difference is judged later, against training anew."""
        found = []
        for run, told in self.case.train(variant, list(self.reference), self.reference).items():
            self._note_opened(run, told)
            subject = f"{self._label(run)}: {kind}"
            if told.error:
                found.append(
                    Check(
                        "train",
                        subject,
                        "failed",
                        f"training stops when {CHANGES[kind]} change: {told.error}",
                    )
                )
                continue
            made = variant.layout.file("train", self.case.dataset, *run)
            if provenance.sha256(made) != provenance.sha256(self.reference[run]):
                self.suspects[run, kind] = self._keep(variant, run)
            found.append(Check("train", subject, "ok", "train.h5 equal byte for byte"))
        return found

    def _judged(self, found: list[Check]) -> list[Check]:
        """Replace the checks of suspects: tell a leak from training that gives other bytes on
        the same data.
        """
        if not self.suspects:
            return found
        self._say("training again on the data as it is")
        again: dict[Run, Path] = {}
        wanted = list(dict.fromkeys(run for run, _ in self.suspects))
        with self.case.plain("again", computed=False) as variant:
            for run, told in self.case.train(variant, wanted).items():
                if not told.error:
                    again[run] = self._keep(variant, run)
        verdicts = {
            f"{self._label(run)}: {kind}": self._verdict(run, kind, made, again.get(run))
            for (run, kind), made in self.suspects.items()
        }
        return [
            Check(c.check, c.subject, "failed", verdicts[c.subject])
            if c.check == "train" and c.subject in verdicts
            else c
            for c in found
        ]

    def _verdict(self, run: Run, kind: str, made: Path, again: Path | None) -> str:
        reference = self.reference[run]
        moved = changed(reference, made) or ["the file"]
        if again is None:
            return (
                f"{moved[0]} changes, and training does not work a second time on the data as it is"
            )
        if provenance.sha256(again) == provenance.sha256(reference):
            return f"{moved[0]} changes when {CHANGES[kind]} change; {len(moved)} arrays in all"
        first = (changed(reference, again) or ["the file"])[0]
        if run not in self.fresh and provenance.sha256(again) == provenance.sha256(made):
            return (
                f"{first} of {reference} is not what training gives now (other code, versions or "
                "machine, or another run of the same process): make it again with "
                f"{self.case.context.layout.command('train', self.case.dataset, *run)} --force"
            )
        return (
            f"{first} changes from one training to the next on the same data: nothing can be "
            "told before it is reproducible"
        )

    def _reads(self, run: Run) -> Check:
        opened = [_short(path) for path in dict.fromkeys(self.opened.get(run, []))]
        if opened:
            more = f" and {len(opened) - 1} more" if len(opened) > 1 else ""
            return Check("reads", self._label(run), "failed", f"training opens {opened[0]}{more}")
        return Check(
            "reads",
            self._label(run),
            "ok",
            "training opens features.h5 and no other artefact or raw file",
        )


def _short(path: str) -> str:
    """Return a path below the working folder as people write it."""
    here = Path.cwd().resolve()
    return (
        str(Path(path).relative_to(here))
        if Path(path).is_absolute() and Path(path).is_relative_to(here)
        else path
    )


def _budget(trained: Path) -> str:
    with Artefact(trained, "train") as artefact:
        stored = json.loads(artefact.attribute("facts"))["stored"]
    return f"training held it to the {stored['rows']:,} rows of earlier data that it declares"
