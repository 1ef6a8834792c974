"""The commands behind the page of results, cut short; the numbers are held in bands elsewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "taamctl" / "docs" / "results.md").read_text(encoding="utf-8")


def test_the_commands_of_the_results_run(
    shared_data: Path, tmp_path: Path, support: ModuleType
) -> None:
    """One seed, two epochs and two condensing steps; one data set where Photo is among several;
    Debian's 53 classes as six tasks.
    """
    commands = [
        line
        for block in re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(commands) == 8
    environment = support.with_commands(tmp_path / "commands", TAAMCTL_DATA=str(shared_data))
    shorter = support.shortened((ROOT / "params.yaml").read_text())
    (tmp_path / "params.yaml").write_text(
        re.sub(
            r"(iterations: 901|encoders: \d+)", lambda m: f"{m[0].partition(':')[0]}: 2", shorter
        )
    )
    for command in commands:
        command = re.sub(r" --seed [23]", "", command)
        if "--dataset photo" in command:
            command = re.sub(r" --dataset (citeseer|computer)", "", command)
        else:
            assert "--dataset debian" in command
            command += " --set split.classes_per_task=9"
        done = subprocess.run(
            f"{command} --quiet",
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr[-2000:]}"
