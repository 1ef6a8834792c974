"""`taamctl methods`, and a method of another package from its first line to a report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from taamctl.cli.app import app
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.params import plugin_params
from taamctl.params.params_file import PACKAGED
from taamctl.runtime import reached_code, source_text
from taamctl.testing import scaffold

PACKAGE = "taamctl.methods"


def install(
    site: Path, points: dict[str, str], distribution: str = "other", group: str = PACKAGE
) -> Path:
    """Write what an installer leaves of a distribution with these entry points: enough to be
    found, without an installer.
    """
    folder = site / f"{distribution}-0.1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1\n")
    (folder / "entry_points.txt").write_text(
        "\n".join([f"[{group}]", *(f"{name} = {module}" for name, module in points.items())]) + "\n"
    )
    return site


def invoke(*arguments: str) -> str:
    """Run a verb in this process and return its stdout; a failure is raised as it is."""
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def site(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder that this process imports from; what is installed there is forgotten
    afterwards.
    """
    folder, before = here / "site", set(sys.modules)
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    forget()
    yield folder
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]
    monkeypatch.undo()
    forget()


def forget() -> None:
    for known in (registry.offers, reached_code.reached, source_text.read):
        known.cache_clear()


# --------------------------------------------------------------------------------------------------


def test_list_names_every_method_and_its_facts(here: Path) -> None:
    rows = {row["name"]: row for row in json.loads(invoke("methods", "list", "--json"))}
    assert set(registry.builtin(PACKAGE)) <= set(rows)
    assert rows["taam"] == {
        "name": "taam",
        "title": "TAAM",
        "family": "modulation",
        "sees": "current",
        "task_id": "inferred",
        "needs": [],
        "query_needs": [],
        "memory": "none",
        "from": "taamctl",
        "broken": None,
    }
    table = invoke("methods", "list").splitlines()
    assert len(table) == len(rows) + 1
    assert any(
        line.split()[:2] == ["tpp", "TPP"] and "edges (at test too)" in line for line in table
    )


def test_show_tells_specification_needs_and_parameters(here: Path) -> None:
    text = invoke("methods", "show", "taam")
    for words in (
        "reshape(W_A e + b_A, heads, rank)",
        "TAAM (AAMAS 2026)",
        "amp, cosine",
        "up_to_task",
        "the packaged params.yaml",
        '= "release"  (release | text | strict_gcil)',
        "= 4  (whole number, >= 1, <= 4096)",
        "width of the task embedding",
    ):
        assert words in text
    facts = json.loads(invoke("methods", "show", "gem", "--json"))
    assert facts["memory"] == "rows of H, m per task"
    assert [p["name"] for p in facts["parameters"]] == ["budget", "margin"]
    assert facts["parameters"][0]["range"] == ">= 1"
    assert [Path(f).name for f in facts["files"]] == ["gem.py"]
    assert "no parameters of its own" in invoke("methods", "show", "finetune")


def test_show_takes_the_values_of_the_parameter_file(here: Path) -> None:
    (here / "params.yaml").write_text(PACKAGED.read_text().replace("rank: 4", "rank: 7"))
    assert "rank       = 7" in invoke("methods", "show", "taam")
    assert "values from params.yaml" in invoke("methods", "show", "taam")


def test_show_suggests_the_nearest_name(here: Path) -> None:
    with pytest.raises(TaamctlError, match="no method called 'tam'") as caught:
        invoke("methods", "show", "tam")
    assert caught.value.hint == "did you mean 'taam'?"


# --------------------------------------------------------------------------------------------------


def test_new_writes_three_files_and_overwrites_nothing_unasked(here: Path) -> None:
    assert invoke("methods", "new", "near_mean").split() == [
        f"near_mean/{f}" for f in ("pyproject.toml", "near_mean.py", "test_near_mean.py")
    ]
    mine = here / "near_mean" / "near_mean.py"
    mine.write_text("# mine\n")
    (here / "near_mean" / "pyproject.toml").unlink()
    with pytest.raises(
        TaamctlError, match=r"near_mean\.py, near_mean/test_near_mean\.py: there already"
    ) as caught:
        invoke("methods", "new", "near_mean")
    assert "--force" in caught.value.hint
    assert mine.read_text() == "# mine\n"
    assert not (here / "near_mean" / "pyproject.toml").exists()
    invoke("methods", "new", "near_mean", "--force")
    assert "class Method(ReplayMethod)" in mine.read_text()
    assert "$" not in "".join(p.read_text() for p in (here / "near_mean").iterdir())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("My_Method", "cannot be a method's name"),
        ("1st", "cannot be"),
        ("a-b", "cannot be"),
        ("../a", "cannot be"),
        ("", "cannot be"),
        ("class", "cannot be"),
        ("größe", "cannot be"),
        ("all", "it stands for every method"),
        ("taam", "there is a method 'taam' already"),
        ("json", "there is a Python module 'json' already"),
        ("torch", "there is a Python module 'torch' already"),
    ],
)
def test_new_refuses_names_that_a_method_cannot_have(here: Path, name: str, words: str) -> None:
    with pytest.raises(TaamctlError, match=words) as caught:
        invoke("methods", "new", "--into", "folder", "--", name)
    assert caught.value.hint
    assert not list(here.iterdir())


def test_new_says_which_folder_it_cannot_write(here: Path) -> None:
    (here / "file").write_text("")
    with pytest.raises(TaamctlError, match="cannot write file"):
        invoke("methods", "new", "near_mean", "--into", "file/below")


# --------------------------------------------------------------------------------------------------

GOOD = "from taamctl.methods.finetune import Method\nParams = None\n"


def test_a_broken_plugin_is_in_nobody_elses_way(site: Path) -> None:
    install(
        site,
        {
            "sound": "sound_module",
            "torn": "torn_module",
            "gone": "gone_module",
            "bare": "bare_module",
        },
    )
    (site / "sound_module.py").write_text(GOOD)
    (site / "torn_module.py").write_text("import nothing_of_this_name\n")
    (site / "bare_module.py").write_text("Params = None\n")
    assert registry.load(PACKAGE, "sound").Method.facts.title == "Finetuning"
    with pytest.raises(
        TaamctlError,
        match=r"'torn' of other 0\.1 cannot be imported: ModuleNotFoundError: "
        r".*nothing_of_this_name",
    ):
        registry.load(PACKAGE, "torn")
    with pytest.raises(
        TaamctlError, match="'bare' of other 0.1 is the module bare_module .*, which lacks Method"
    ):
        registry.load(PACKAGE, "bare")
    with pytest.raises(TaamctlError, match="'gone' of other 0.1 has no source"):
        registry.sources(PACKAGE, "gone")
    rows = {row["name"]: row for row in json.loads(invoke("methods", "list", "--json"))}
    assert rows["sound"]["from"] == "other 0.1"
    assert rows["sound"]["broken"] is None
    assert "nothing_of_this_name" in rows["torn"]["broken"]
    assert "broken: the method 'torn' of other 0.1 cannot be imported" in invoke("methods", "list")


def test_clashing_names_are_refused(site: Path) -> None:
    install(site, {"taam": "their_taam", "twice": "one_module", "Loud-1": "loud_module"})
    install(site, {"twice": "two_module"}, "third")
    with pytest.raises(
        TaamctlError, match=r"2 packages have a method called 'taam': taamctl, other 0\.1"
    ) as caught:
        registry.load(PACKAGE, "taam")
    assert "uninstall other" in caught.value.hint
    with pytest.raises(TaamctlError, match="2 packages have a method called 'twice'"):
        registry.load(PACKAGE, "twice")
    with pytest.raises(TaamctlError, match=r"other 0\.1 calls a method 'Loud-1'"):
        registry.load(PACKAGE, "Loud-1")
    assert registry.load(PACKAGE, "finetune")
    with pytest.raises(
        TaamctlError, match="there is a method 'twice' already, from other 0.1 and third 0.1"
    ):
        scaffold.check_name("twice", site / "twice.py")


def test_a_plugin_in_a_package_is_tied_to_the_whole_package(site: Path) -> None:
    install(site, {"inner": "outer.inner"})
    (site / "outer").mkdir()
    (site / "outer" / "__init__.py").write_text("")
    (site / "outer" / "inner.py").write_text(GOOD)
    (site / "outer" / "helper.py").write_text("a = 1\n")
    assert [p.name for p in registry.sources(PACKAGE, "inner")] == [
        "__init__.py",
        "helper.py",
        "inner.py",
    ]
    before = reached_code.reached((), ((PACKAGE, "inner"),)).code
    assert list(before) == ["outer", "outer.helper", "outer.inner"]
    (site / "outer" / "helper.py").write_text("a = 2\n")
    forget()
    after = reached_code.reached((), ((PACKAGE, "inner"),)).code
    assert [name for name in after if after[name] != before[name]] == ["outer.helper"]


def test_parameters_come_from_the_file_else_from_the_plugin(site: Path) -> None:
    install(site, {"mine": "mine_module", "without": "without_module"})
    head = "from taamctl.methods.gem import Method, Params\n"
    (site / "mine_module.py").write_text(f"{head}DEFAULTS = {{'budget': 5, 'margin': 0.5}}\n")
    (site / "without_module.py").write_text(head)
    tree = plugin_params.read(PACKAGED, ["methods.mine.budget=7"], ["mine"])
    assert tree["methods"]["mine"] == {"budget": 7, "margin": 0.5}
    assert registry.load(PACKAGE, "mine").DEFAULTS["budget"] == 5
    assert "mine" not in plugin_params.read(PACKAGED, [], ["mine"], used=False)["methods"]
    assert plugin_params.read(PACKAGED, ["run.methods=[mine]"])["methods"]["mine"]["budget"] == 5
    with pytest.raises(
        TaamctlError, match=r"--set methods\.mine\.budgit=7: no such parameter"
    ) as caught:
        plugin_params.read(PACKAGED, ["methods.mine.budgit=7"], ["mine"])
    assert caught.value.hint == "did you mean methods.mine.budget=...?"
    with pytest.raises(
        TaamctlError, match="'without' of other 0.1 has parameters but no values for them"
    ):
        plugin_params.read(PACKAGED, [], ["without"])
    own = site / "params.yaml"
    own.write_text(PACKAGED.read_text() + "  without: {budget: 3, margin: 0.1}\n")
    assert plugin_params.read(own, ["methods.without.budget=4"], ["without"])["methods"][
        "without"
    ] == {
        "budget": 4,
        "margin": 0.1,
    }
    assert plugin_params.expand("methods", ["all"]) == list(registry.names(PACKAGE))
    assert {"mine", "without", "taam"} <= set(registry.names(PACKAGE))


def test_a_data_set_of_another_package_is_found(site: Path) -> None:
    install(site, {"tiny": "tiny_module"}, group="taamctl.datasets")
    (site / "tiny_module.py").write_text("from taamctl.datasets.debian import META, load\n")
    assert registry.load("taamctl.datasets", "tiny").META.nodes == 63320
    assert plugin_params.read(PACKAGED, ["run.datasets=[tiny]"])["datasets"]["tiny"] == {}


# --------------------------------------------------------------------------------------------------


def test_a_new_method_is_written_tested_run_and_retrained(
    tmp_path: Path, support: ModuleType
) -> None:
    """What the README says, with an installer's traces written by hand: no network, no change to
    this environment.
    """
    made = support.taamctl(tmp_path, "methods", "new", "near_mean")
    assert made.code == 0, made.err
    assert "next: pip install -e near_mean" in made.err
    site = install(tmp_path / "near_mean", {"near_mean": "near_mean"}, "taamctl-near-mean")
    environment = support.environment(PYTHONPATH=str(site))
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "near_mean"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert tested.returncode == 0, tested.stdout
    assert "1 passed" not in tested.stdout  # the whole contract ran

    def call(stage: str, *more: str) -> Any:
        done = support.taamctl(
            tmp_path,
            *support.call(stage, *more, methods=("near_mean", "finetune"), epochs=20),
            env=environment,
        )
        assert done.code == 0, done.err
        return done

    rows = {row["method"]: row for row in json.loads(call("run", "--json").out)}
    assert rows["near_mean"]["aa"] > rows["finetune"]["aa"] + 0.1, "replay forgets less"
    assert "--method near_mean" in (tmp_path / "outputs" / "report" / "report.md").read_text()
    assert (
        "train synthetic/near_mean/seed-1: reused"
        in call("train", "--set", "methods.near_mean.budget=10").err
    )
    source = site / "near_mean.py"
    before = source.read_text()
    source.write_text(before.replace("own, count)", "own, max(1, count - 1))"))
    assert source.read_text() != before
    edited = call("train", "--set", "methods.near_mean.budget=10").err
    assert "train synthetic/near_mean/seed-1: wrote" in edited
    assert "train synthetic/finetune/seed-1: reused" in edited
    changed = call("train", "--set", "methods.near_mean.budget=2").err
    assert "train synthetic/near_mean/seed-1: wrote" in changed
    assert "train synthetic/finetune/seed-1: reused" in changed


def test_every_method_at_once(here: Path) -> None:
    from taamctl.cli.common import make_context
    from taamctl.cli.shared_options import Grid, Settings, Writing
    from taamctl.pipeline.walk import runs

    context = make_context(
        Grid(["synthetic"], ["all"]), Settings(), Writing(quiet=True), check_methods=True
    )
    assert [m for _, m, _ in runs(context)] == list(registry.names(PACKAGE))
