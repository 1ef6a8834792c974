"""Help pages, `docs`, `explain`, `--version`, completion and `doctor --report`."""

from __future__ import annotations

import getpass
import json
import platform
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from taamctl.cli import examples, help_page, help_words, issue_report, verbs_page
from taamctl.cli.app import app
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.manual import pages, topics

VERBS = {" ".join(words): (command, context) for words, command, context in verbs_page.verbs()}
WIDTHS = (40, 60, 80, 200)


def invoke(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*words: str) -> TaamctlError:
    error = CliRunner().invoke(app, list(words)).exception
    assert isinstance(error, TaamctlError)
    return error


def text_of(name: str, width: int) -> str:
    return help_page.page(*VERBS[name], width)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_of_a_help_page_is_wider_than_the_terminal(width: int) -> None:
    """But for one word that is longer than that."""
    for name in VERBS:
        for line in text_of(name, width).splitlines():
            assert len(line) <= width or " " not in line.strip().removesuffix(" \\"), (name, line)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_option_stands_there_whole_with_its_choices(width: int) -> None:
    for name, (command, _) in VERBS.items():
        text = " ".join(text_of(name, width).split())
        for param in command.params:
            assert help_words.shape(param) in text, (name, param.name)
        assert not re.search(r"<(str|bool|int|path|list)", text)


def test_flags_have_no_value_and_everything_else_has_a_word_for_it() -> None:
    for command, _ in VERBS.values():
        for param in filter(help_words.is_option, command.params):
            word = help_words.value_word(param)
            assert bool(word) != bool(getattr(param, "is_flag", False)), param.opts


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("predict", "--unit node|component|graph"),
        ("predict", "--decide router|expert|soft"),
        ("compare", "--scope all_seen|up_to_task|task_only"),
        ("data import", "--bad-rows refuse|drop"),
        ("run", "--executor local|dask"),
    ],
)
def test_choices_are_those_that_are_taken(name: str, choices: str) -> None:
    assert f"  {choices}" in text_of(name, 80)


def test_every_verb_has_an_example_that_its_parser_takes() -> None:
    assert set(examples.EXAMPLES) == set(VERBS)
    for name, lines in examples.EXAMPLES.items():
        for line in lines:
            words = shlex.split(line.partition(" > ")[0])
            assert words[0] == "taamctl"
            where = " ".join(words[1:3]) if " ".join(words[1:3]) in VERBS else words[1]
            assert name in ("", where, where.split()[0])
            rest = words[1 + len(where.split()) :]
            made = VERBS[where][0].make_context(where, rest)
            assert made.args == []


def test_a_list_of_pages_a_page_and_a_search() -> None:
    listed = invoke("docs")
    assert all(page.name in listed for page in pages.pages())
    assert invoke("docs", "Protocols.md") == pages.page("protocols").text
    found = json.loads(invoke("docs", "--search", "memory short", "--json"))
    assert found[0] == {**found[0], "page": "plan", "heading": "When memory is short"}


def test_on_a_terminal_a_link_is_the_command_that_shows_the_page() -> None:
    text = "<!-- generated: x -->\nsee [the bank](bank.md#what-it-keeps), [X](https://x.org/a.md)\n"
    shown = pages.for_terminal(text)
    assert shown == "see the bank (`taamctl docs bank`), [X](https://x.org/a.md)\n"
    for page in pages.pages():
        for name in re.findall(r"`taamctl docs ([a-z][a-z-]+)`", pages.for_terminal(page.text)):
            assert pages.page(name)


def test_a_page_that_is_not_there_names_the_nearest() -> None:
    assert "did you mean protocols?" in refused("docs", "protocol").hint


@pytest.mark.parametrize(
    ("word", "kind", "part"),
    [
        ("AF", "word", "what was lost"),
        ("average FORGETTING", "word", "what was lost"),
        ("task-ID %", "word", "right after the last task"),
        ("cost M", "word", "millions"),
        ("train.lr", "parameter", "0.005"),
        ("weight_decay", "parameter", "train.weight_decay"),
        ("analytic", "method", "Gram matrix"),
        ("photo", "data set", "7,650 nodes"),
        ("--lens", "option", "eval"),
        ("bank add-task", "verb", "Learn the classes"),
        ("hop_mean", "array of precompute", "S^j X"),
        ("class_recall", "field of results", "recall"),
        ("error: a/b.h5 is being written by process 7 on there since 1", "error", "wait"),
    ],
)
def test_a_word_is_explained(word: str, kind: str, part: str) -> None:
    found = json.loads(invoke("explain", "--json", *word.split()))
    assert any(topic["kind"] == kind and part in topic["text"] for topic in found), found


def test_every_method_parameter_verb_and_word_is_explained_by_its_own_name() -> None:
    known = [*topics.built_in(), *verbs_page.topics()]
    names = {topic.names[0] for topic in known}
    assert {*registry.builtin("taamctl.methods"), *registry.builtin("taamctl.datasets")} <= names
    assert {"train.lr", "methods.taam.rank", "AA", "run", "--set"} <= names
    for topic in known:
        assert topic.tell().strip(), topic.names
        assert topic in topics.matching(known, topic.names[0])
        assert topic.more.startswith("taamctl ")


def test_a_word_that_is_not_known_names_the_nearest() -> None:
    hint = refused("explain", "forgeting").hint
    assert "did you mean forgetting" in hint
    assert "taamctl docs --search" in hint
    assert "did you mean" not in refused("explain", "xqzzy").hint


def test_a_report_for_an_issue_has_no_name_and_no_path() -> None:
    user = getpass.getuser()
    home = Path.home()
    said = f"{home}/work/x.py failed for {user} on {platform.node()}: see C:\\Users\\{user}\\a b"
    shown = issue_report.without_names(said)
    assert "work" not in shown
    assert "x.py" not in shown
    assert not re.search(rf"\b{re.escape(user)}\b", shown)
    assert platform.node() not in shown
    assert "1/2 of 3 and/or 4" in issue_report.without_names("1/2 of 3 and/or 4")


def test_the_report_says_what_matters(support: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(
        invoke("params").replace("lr: 0.005", "lr: 0.007"), encoding="utf-8"
    )
    done = support.taamctl(tmp_path, "doctor", "--report")
    assert done.code in (0, 1)
    assert done.out.startswith("```text\ntaamctl ")
    assert "torch " in done.out
    assert "parameters: train.lr=0.007" in done.out
    assert str(tmp_path) not in done.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_completion_is_one_that_the_shell_takes(
    shell: str, support: ModuleType, tmp_path: Path
) -> None:
    asked = support.environment(_TAAMCTL_COMPLETE=f"source_{shell}")
    done = subprocess.run(
        ["taamctl"], capture_output=True, text=True, env=asked, check=False, cwd=tmp_path
    )
    assert done.returncode == 0
    assert "_TAAMCTL_COMPLETE" in done.stdout
    program = shutil.which(shell)
    if program:
        script = tmp_path / "script"
        script.write_text(done.stdout)
        assert subprocess.run([program, "-n", str(script)], check=False).returncode == 0


def test_fish_itself_completes_with_the_script(support: ModuleType, tmp_path: Path) -> None:
    program = shutil.which("fish")
    if program is None:
        pytest.skip("no fish here")
    asked = support.environment(_TAAMCTL_COMPLETE="source_fish")
    call = {"capture_output": True, "text": True, "check": False, "cwd": tmp_path}
    script = subprocess.run(["taamctl"], env=asked, **call).stdout
    here = support.environment(HOME=str(tmp_path))
    line = f"{script}\ncomplete -C 'taamctl run --dataset cite'"
    done = subprocess.run([program, "-c", line], env=here, **call)
    assert done.stdout.split() == ["citeseer"], done.stderr


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("taamctl expl", "explain"),
        ("taamctl run --method an", "analytic"),
        ("taamctl run --dataset pho", "photo"),
        ("taamctl docs proto", "protocols"),
        ("taamctl run --dry", "--dry-run"),
    ],
)
def test_bash_completes(line: str, wanted: str, support: ModuleType, tmp_path: Path) -> None:
    asked = support.environment(
        _TAAMCTL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(line.split()) - 1)
    )
    done = subprocess.run(
        ["taamctl"], capture_output=True, text=True, env=asked, check=False, cwd=tmp_path
    )
    assert wanted in done.stdout.split()
