"""Which code counts for which stage, and what of it: on small packages and on our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from taamctl.runtime import reached_code, source_text
from taamctl.runtime.stage_table import STAGES, TABLE
from taamctl.store import schema

BEFORE = '''
"""A module."""
import math
from pathlib import Path

LIMIT = 3  # a comment


def area(r: float) -> float:
    """Return the area."""
    if r < 0:
        raise ValueError(f"{r} is negative")
    return math.pi * r**2


def other() -> int:
    return LIMIT
'''


def digests(tmp_path: Path, text: str) -> dict[str, str]:
    source_text.read.cache_clear()
    file = tmp_path / "module.py"
    file.write_text(text, encoding="utf-8")
    found = source_text.read(file, "package.module").definitions
    return {name: made[0].digest for name, made in found.items()}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Return the area."""', '"""Return what a circle covers."""'),
        ("  # a comment", "  # another one"),
        ('f"{r} is negative"', 'f"a radius of {r} is none"'),
        ("math.pi * r**2", "(\n        math.pi\n        * r ** 2\n    )"),
        ("r: float", "r: int"),
        ("\n\n\ndef other", "\n\n\n\n\ndef other"),
    ],
)
def test_what_reaches_no_result_is_the_same_code(tmp_path: Path, old: str, new: str) -> None:
    assert BEFORE.count(old) == 1
    assert digests(tmp_path, BEFORE) == digests(tmp_path, BEFORE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("r**2", "r**3", {"area"}),
        ("r < 0", "r <= 0", {"area"}),
        ("LIMIT = 3", "LIMIT = 4", {"LIMIT"}),
        ("return LIMIT", "return -LIMIT", {"other"}),
        ("ValueError(", "KeyError(", {"area"}),
    ],
)
def test_a_change_is_that_of_one_definition(
    tmp_path: Path, old: str, new: str, changed: set[str]
) -> None:
    before, after = digests(tmp_path, BEFORE), digests(tmp_path, BEFORE.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == changed


def test_names_attributes_and_texts_are_found(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        "from . import near\n"
        "from .far import thing as renamed\n"
        "import taamctl.core.types as types\n"
        "def use():\n"
        "    from outer import late\n"
        "    return near.f(renamed, types.Array, late, 'table.toml')\n"
        "print('runs on import')\n",
        encoding="utf-8",
    )
    source = source_text.read(tmp_path / "module.py", "package.module")
    assert source.imports == {
        "near": (source_text.Target("package", "near"),),
        "renamed": (source_text.Target("package.far", "thing"),),
        "types": (source_text.Target("taamctl.core.types"),),
        "late": (source_text.Target("outer", "late"),),
    }
    (use,) = source.definitions["use"]
    assert use.names == {"near.f", "renamed", "types.Array", "late"}
    assert use.texts == {"table.toml"}
    assert len(source.effects) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from scipy.optimize import nnls", "from scipy.optimize import lsq_linear as nnls"),
        ("from torch.nn import functional", "from torch.nn import init as functional"),
        ("from near import a, b", "from near import b as a, a as b"),
    ],
)
def test_another_thing_under_the_same_name_is_other_code(
    tmp_path: Path, old: str, new: str
) -> None:
    text = (
        "from scipy.optimize import nnls\nfrom torch.nn import functional\nfrom near import a, b\n"
        "def f(x):\n    return nnls(functional.relu(a(x)), b(x))\n"
        "def g(x):\n    return x\n"
    )
    before, after = digests(tmp_path, text), digests(tmp_path, text.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == {"f"}


def test_a_dotted_import_reaches_the_whole_module(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("import taamctl.models.layer\ntaamctl.models.layer.x\n", encoding="utf-8")
    source = source_text.read(file, "module")
    assert source.imports["taamctl"] == (source_text.Target("taamctl.models.layer", "*"),)


def test_a_branch_that_defines_counts_for_every_name_in_it(tmp_path: Path) -> None:
    text = "import sys\nif sys.platform == 'x':\n    A = 1\nelse:\n    A = 2\n"
    before = digests(tmp_path, text)
    assert before.keys() == {"A"}
    assert digests(tmp_path, text.replace("2", "3")) != before


def modules(stage: str, name: str = "") -> set[str]:
    kind = TABLE[stage].plugin
    plugins = ((f"taamctl.{kind}", name),) if name else ()
    found = reached_code.reached((TABLE[stage].module,), plugins).code
    return {module.removeprefix("taamctl.") for module in found}


def test_a_method_depends_on_its_own_code_alone() -> None:
    taam, probe, tpp = (modules("train", name) for name in ("taam", "linear_probe", "tpp"))
    assert {"models.layer", "models.sweep", "learning.families.modulated"} <= taam
    assert not {"models.layer", "learning.kernels.loop", "learning.families.prompted"} & probe
    assert {"learning.families.prompted", "propagation.powers"} <= tpp
    assert not {name for name in taam | probe if name.startswith("propagation")}


def test_libraries_are_those_that_are_used() -> None:
    def libraries(stage: str, name: str) -> tuple[str, ...]:
        plugins = ((f"taamctl.{TABLE[stage].plugin}", name),)
        return reached_code.reached((TABLE[stage].module,), plugins).libraries

    assert "scikit-learn" in libraries("train", "linear_probe")
    assert "scikit-learn" not in libraries("train", "taam")
    assert "torch" not in libraries("split", "debian")
    assert "ogb" in libraries("split", "arxiv")
    assert "ogb" not in libraries("split", "photo")


def test_a_file_beside_a_module_that_it_names_counts() -> None:
    assert "datasets/debian_bookworm.npz" in modules("split", "debian")
    assert "datasets/debian_bookworm.npz" not in modules("split", "photo")
    assert "report/report.html.j2" in modules("report")


@pytest.mark.parametrize("stage", STAGES)
def test_machinery_is_in_no_key(stage: str) -> None:
    name = {"datasets": "synthetic", "methods": "taam"}.get(TABLE[stage].plugin, "")
    found = {f"taamctl.{module}" for module in modules(stage, name)}
    assert not {name for name in found if reached_code.is_machinery(name)}
    assert f"taamctl.stages.{stage}" in found


KINDS = {  # what a stage reads and writes of a data set that is no graph of one's own
    "split": {"SPLIT"},
    "precompute": {"SPLIT", "PRECOMPUTE"},
    "train": {"PRECOMPUTE", "TRAIN", "CHECKPOINT"},
    "infer": {"PRECOMPUTE", "TRAIN", "INFER"},
    "eval": {"SPLIT", "TRAIN", "INFER"},
    "lens": {"SPLIT", "PRECOMPUTE", "TRAIN", "INFER"},
    "report": set(),
}


@pytest.mark.parametrize("stage", TABLE)
def test_a_key_counts_the_kinds_of_files_that_its_stage_opens(stage: str) -> None:
    plugins = {"datasets": "debian", "methods": "taam"}
    row = TABLE[stage]
    used = ((f"taamctl.{row.plugin}", plugins[row.plugin]),) if row.plugin else ()
    symbols = reached_code.reached((row.module,), used).symbols
    every = {name.upper() for name in schema.KINDS}
    found = {name for of in symbols.values() for name in of if name in every}
    assert found == KINDS[stage]
