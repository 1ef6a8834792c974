"""What long work says: which run it is, where that is in the whole, and how long it still takes."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from taamctl.cli import plain_progress
from taamctl.cli.plain_progress import PlainProgress

LIVE = """
from taamctl.cli.progress_bars import make_progress

progress = make_progress(False)
progress.about("2/6 [bold]shop/taam/seed-2")
with progress.during("train shop"):
    progress.start("train", 10)
    progress.skip(4)
    progress.advance(3)
    progress.line("task 1/4: loss [red]0.1")
    progress.finish()
"""


def test_a_line_names_the_run_and_steps_that_were_skipped_say_nothing_of_the_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(plain_progress.time, "perf_counter", lambda: now)
    progress = PlainProgress()
    progress.about("2/6 shop/taam/seed-2")
    progress.start("train", 1000)
    progress.skip(600)
    progress.line("task 3/5: taken from the checkpoint")
    now += 10
    progress.advance(100)
    progress.line("task 4/5: loss 0.1")
    progress.about("")
    progress.advance(300)
    progress.line("task 5/5: loss 0.1")
    assert capsys.readouterr().err.splitlines() == [
        "  [2/6 shop/taam/seed-2] task 3/5: taken from the checkpoint",
        "  [2/6 shop/taam/seed-2] task 4/5: loss 0.1 (about 30 s left)",
        "  task 5/5: loss 0.1",
    ]


@pytest.mark.parametrize("says", [True, False])
def test_what_is_silent_for_long_says_that_it_is_at_work_and_nothing_else_does(
    says: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plain_progress, "PATIENCE", 0.0)
    progress = PlainProgress()
    if not says:
        monkeypatch.setattr(plain_progress, "PATIENCE", 1000.0)
    with progress.during("report shop"):
        assert progress._quiet is not None
        if says:
            progress._quiet.join()
    progress._quiet.join()  # cancelled at the end of the block
    assert capsys.readouterr().err == "  report shop: at work\n" * says


def test_a_terminal_shows_a_bar_that_names_the_run() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen([sys.executable, "-c", LIVE], stderr=theirs, env=environment) as started:
        os.close(theirs)
        written = b""
        while True:
            try:
                read = os.read(ours, 4096)
            except OSError:  # its end, on Linux
                break
            if not read:
                break
            written += read
    os.close(ours)
    assert started.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.decode())
    assert "2/6 [bold]shop/taam/seed-2 train" in text
    assert "3/6" in text
    assert "task 1/4: loss [red]0.1" in text
