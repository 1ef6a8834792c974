"""Every stage, run for real, opens, reads and calls only what its row of the stage table knows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

import h5py
import pytest
from taamctl.stages import eval as evaluate
from taamctl.stages import infer, precompute, report, split, train

from taamctl.cli import common
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.params.sections import SECTIONS, Params
from taamctl.pipeline import lens_run, walk
from taamctl.runtime import execute, reached_code
from taamctl.runtime.job import Context, Job
from taamctl.runtime.stage_table import TABLE

# One method of every family that has code of its own in train and infer.
METHODS = ("taam", "linear_probe", "analytic", "ergnn", "tpp", "twp", "delome", "gem")


@dataclass
class Seen:
    """What was seen while stages ran: stage -> things."""

    opened: dict[str, set[str]] = field(default_factory=dict)
    sections: dict[str, set[str]] = field(default_factory=dict)
    called: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=dict)
    stage: str = ""

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        self.stage = stage
        try:
            yield
        finally:
            self.stage = ""


def note(frame: FrameType, found: set[tuple[str, str]]) -> None:
    """Add the module and the outermost definition of a function of ours that is called."""
    module = frame.f_globals.get("__name__", "")
    symbol = frame.f_code.co_qualname.partition(".")[0]
    made_by_python = symbol.startswith(("<", "__"))  # a module's body, a dataclass's functions
    if made_by_python or not module.startswith("taamctl.") or (module, symbol) in found:
        return
    if not for_the_machinery(frame):
        found.add((module, symbol))


def for_the_machinery(frame: FrameType) -> bool:
    """Tell whether something is called on behalf of what reaches no byte, such as a lock."""
    at: FrameType | None = frame
    while at is not None and at.f_code.co_name != "profiled":
        if reached_code.is_machinery(at.f_globals.get("__name__", "")):
            return True
        at = at.f_back
    return False


SEEN = Seen()


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and SEEN.stage and isinstance(arguments[0], str):
        SEEN.opened.setdefault(SEEN.stage, set()).add(arguments[0])


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, Context]:
    """Run every stage once, and the lens, and return what was seen."""
    patch = pytest.MonkeyPatch()
    sys.addaudithook(_audit)  # stays; it looks only while a stage of this module runs
    opened_h5, section, plugin = h5py.File.__init__, Params.section, Params.plugin
    computed = execute._computed

    def open_h5(self: Any, name: Any, *rest: Any, **options: Any) -> None:
        if SEEN.stage:
            SEEN.opened.setdefault(SEEN.stage, set()).add(str(name))
        opened_h5(self, name, *rest, **options)

    def read_section(self: Params, cls: type[Any]) -> Any:
        place = f"{cls.__module__}:{cls.__qualname__}"
        name = next(name for name, target in SECTIONS.items() if target == place)
        if SEEN.stage and sys._getframe(1).f_code.co_name != "plain":  # that is for messages
            SEEN.sections.setdefault(SEEN.stage, set()).add(name)
        return section(self, cls)

    def read_plugin(self: Params, kind: str, name: str, cls: Any) -> Any:
        if SEEN.stage:
            SEEN.sections.setdefault(SEEN.stage, set()).add(f"{kind}.{name}")
        return plugin(self, kind, name, cls)

    def watched(job: Job, key: Any, compute: Callable[[], Any]) -> Any:
        found = SEEN.called.setdefault((job.stage, job.plugin), set())

        def look(frame: FrameType, event: str, argument: object) -> None:
            if event == "call":
                note(frame, found)

        def profiled() -> Any:
            sys.setprofile(look)
            threading.setprofile(look)
            try:
                return compute()
            finally:
                sys.setprofile(None)
                threading.setprofile(None)

        return computed(job, key, profiled)

    patch.setattr(h5py.File, "__init__", open_h5)
    patch.setattr(Params, "section", read_section)
    patch.setattr(Params, "plugin", read_plugin)
    patch.setattr(execute, "_computed", watched)
    context = make(tmp_path_factory.mktemp("table") / "outputs")
    with SEEN.during("split"):
        split.run(context, "synthetic")
    with SEEN.during("precompute"):
        precompute.run(context, "synthetic")
    for which in walk.runs(context):
        for stage, module in (("train", train), ("infer", infer), ("eval", evaluate)):
            with SEEN.during(stage):
                module.run(context, *which)
    inputs = lens_run.LensInputs(context, "synthetic")
    with SEEN.during("lens"):
        for method in ("taam", "linear_probe"):
            lens_run.run(inputs, method, 1)
    with SEEN.during("report"):
        report.run(context)
    patch.undo()
    return SEEN, context


def make(outputs: Path) -> Context:
    settings = RawSettings(
        overrides=["train.epochs=2", "train.threads=1", "lens.batches=[5]"], outputs=outputs
    )
    grid = Grid(["synthetic"], list(METHODS), [1])
    quiet = Writing(quiet=True)
    return replace(common.make_context(grid, settings, quiet, check_methods=True), wait=False)


def stages_of(context: Context, path: str) -> set[str]:
    """Return the stages that a file below the outputs is of; none for what lies elsewhere."""
    root = context.layout.root.absolute()
    file = Path(path).absolute()
    if not file.is_relative_to(root):
        return set()
    top = file.relative_to(root).parts[0]
    return {top}


@pytest.mark.parametrize("stage", TABLE)
def test_a_stage_opens_what_its_row_names(seen: tuple[Seen, Context], stage: str) -> None:
    found, context = seen
    row = TABLE[stage]
    known = {stage, *row.reads, ".checkpoints"}
    if stage == "report":  # the times of training, and what lies beside an evaluation
        known |= {"train", "lens", "split", "precompute", "infer"}
    assert found.opened[stage]
    for path in found.opened[stage]:
        owners = stages_of(context, path)
        assert not owners or owners & known, f"{stage} opens {path}"
    ours = {Path(p).name for p in found.opened[stage] if stage in stages_of(context, p)}
    assert any(name in file for name in (row.files or ("report.json",)) for file in ours)


@pytest.mark.parametrize("stage", TABLE)
def test_a_stage_reads_the_parameters_that_its_row_names(
    seen: tuple[Seen, Context], stage: str
) -> None:
    found, _ = seen
    known = {
        section.format(dataset="synthetic", method=method)
        for section in TABLE[stage].sections
        for method in METHODS
    }
    assert found.sections[stage] <= known
    # and none too many: what a row names and nothing reads would rerun the stage for nothing
    assert {s for s in known if "." not in s} <= found.sections[stage]


def test_a_stage_calls_what_its_key_reaches(seen: tuple[Seen, Context]) -> None:
    found, _ = seen
    assert {stage for stage, _ in found.called} == set(TABLE)
    for (stage, plugin), called in found.called.items():
        kind = TABLE[stage].plugin
        plugins = ((f"taamctl.{kind}", plugin),) if kind else ()
        reached = reached_code.reached((TABLE[stage].module,), plugins).symbols
        missed = {
            f"{module}.{symbol}"
            for module, symbol in called
            if not reached_code.is_machinery(module) and symbol not in reached.get(module, ())
        }
        assert called
        assert not missed, f"{stage} {plugin} calls {sorted(missed)}, which its key does not reach"
