"""The pages on the report, on Python and on DVC are run, command by command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import ModuleType

import pytest


def page(name: str) -> str:
    return resources.files("taamctl").joinpath("docs", name).read_text(encoding="utf-8")


def commands(name: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", page(name), flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def said(folder: Path, environment: dict[str, str], lines: list[str]) -> str:
    """Run commands one after the other and return all that they say."""
    text = ""
    for line in lines:
        done = subprocess.run(
            line, shell=True, cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        text += done.stdout + done.stderr
    return text


def test_the_page_of_the_report_is_run(tmp_path: Path, support: ModuleType) -> None:
    lines = commands("report-page.md")
    quick = [f"{line} --set train.threads=1" if " run " in line else line for line in lines]
    text = said(tmp_path, support.with_commands(tmp_path / "commands"), quick)
    (promised,) = re.findall(r"```text\n(.*?)```", page("report-page.md"), flags=re.DOTALL)
    assert promised.strip().rstrip(".") in text
    assert "Books" in text and "(new)" in text
    assert "\\toprule" in text and "| method | shop AA |" in text
    report = {path.name for path in (tmp_path / "outputs" / "report").iterdir()}
    named = re.findall(r"`([a-z]+\.[a-z]+)`", page("report-page.md").partition("## An")[0])
    assert set(named) <= report
    assert "best-shop.svg" in report


def test_the_page_on_python_is_run(tmp_path: Path, support: ModuleType) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page("python.md"), flags=re.DOTALL)
    call = [sys.executable, "-c", "\n".join(blocks)]
    done = subprocess.run(
        call, cwd=tmp_path, env=support.environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "linear_probe" in done.stdout and "no such folder" in done.stdout
    assert (tmp_path / "curve.pdf").is_file()
    assert (tmp_path / "data" / "papers.h5").is_file()


@pytest.mark.slow
def test_the_page_on_dvc_is_run_inside_git(tmp_path: Path, support: ModuleType) -> None:
    pytest.importorskip("dvc")
    folder = tmp_path / "project"
    folder.mkdir()
    own = {f"DVC_{name}": str(tmp_path / name) for name in ("GLOBAL_CONFIG_DIR", "SITE_CACHE_DIR")}
    who = {
        f"GIT_{role}_{what}": f"nobody@{role.lower()}"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = support.environment(DVC_NO_ANALYTICS="1", **own, **who, HOME=str(tmp_path))
    shop = commands("report-page.md")[:2]
    text = said(folder, environment, [*shop, *commands("dvc-views.md")])
    assert "aa_all_seen" in text and "train.lr" in text
    assert "faster" in text
    assert (tmp_path / "store").is_dir()
    assert os.listdir(folder / "outputs" / "report")


def test_the_page_on_what_a_regression_keeps_is_run(tmp_path: Path, support: ModuleType) -> None:
    lines = [line for line in commands("memory-accuracy.md") if "rank=4" in line]
    assert len(lines) == 2
    text = said(tmp_path, support.with_commands(tmp_path / "commands"), lines)
    assert "memory M" in text
    assert "analytic" in text


def test_the_page_on_upper_references_is_run(tmp_path: Path, support: ModuleType) -> None:
    quick = [f"{line} --set train.epochs=5" for line in commands("upper-references.md")]
    assert len(quick) == 2
    text = said(tmp_path, support.with_commands(tmp_path / "commands"), quick)
    assert all(f"{name} " in text for name in ("joint", "joint_sign", "joint_sage"))
    assert "mixed" in text
