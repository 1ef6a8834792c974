"""What is said of columns that are no numbers, and that it can be followed."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from taamctl.importing import no_numbers
from taamctl.importing.bad_rows import BadRows


def articles(seed: int, names: dict[str, str]) -> pd.DataFrame:
    """Return made-up articles; `names` has the name of the id, the class and the date."""
    rng = np.random.default_rng(seed)
    n = 40
    return pd.DataFrame(
        {
            names["id"]: [f"art-{i}" for i in rng.permutation(n)],
            "heading": [f"about thing {i}" for i in range(n)],
            names["time"]: [f"2026-0{1 + i % 9}-1{i % 10}" for i in range(n)],
            "body": [f"word {rng.integers(9**9)} and more" for _ in range(n)],
            names["label"]: rng.permutation([f"area {i % 4}" for i in range(n)]),
            "length": rng.random(n),
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_hint_names_what_each_column_is(seed: int, tmp_path: Path, support: Any) -> None:
    words = {"id": "article", "label": "topic", "time": "published"}
    made = articles(seed, words)
    made.to_csv(tmp_path / "nodes.csv", index=False)
    ends = made["article"].to_numpy()
    edges = pd.DataFrame({"source": ends[:-1], "target": ends[1:]})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    call = ("data", "import", "nodes.csv", "edges.csv", "--name", "mine")
    refused = support.taamctl(tmp_path, *call)
    assert refused.code == 2
    hint, _, others = refused.err.splitlines()[-1].partition("; or leave them out: ")
    assert others.startswith("--ignore heading --ignore published --ignore body --ignore topic")
    assert "--label topic --time published" in hint
    assert "--label heading" not in hint
    options = shlex.split(" ".join(re.findall(r"--(?:id|label|time|ignore) [a-z]+", hint)))
    left_out = {name for option, name in pairwise(options) if option == "--ignore"}
    assert left_out == {"heading", "body"}
    done = support.taamctl(tmp_path, *call, *options)
    assert done.code == 0, done.err
    assert "4 classes" in done.out + done.err


def test_a_name_that_no_edge_tells_is_offered_as_one(tmp_path: Path, support: Any) -> None:
    words = {"id": "article_id", "label": "label", "time": "time"}
    articles(5, words).drop(columns=["heading", "body", "time"]).to_csv(
        tmp_path / "nodes.csv", index=False
    )
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n2,3\n")
    refused = support.taamctl(tmp_path, "data", "import", "nodes.csv", "edges.csv", "--name", "m")
    assert refused.code == 2
    assert "--id article_id" in refused.err
    assert "--label" not in refused.err


def test_a_slip_in_a_column_of_numbers_makes_no_name_of_it() -> None:
    cell = {"size": np.array(["2", "Oslo", "4", "5"], object)}
    error = no_numbers.no_features({"size": BadRows("m", "", [1])}, cell, set())
    assert error.hint.startswith("leave them out: --ignore size; or choose")


def test_a_comma_before_decimals_comes_first() -> None:
    cell = {"size": np.array(["1,5", "2,5", "1,5", "2,5"], object)}
    error = no_numbers.no_features({"size": BadRows("m", "", [1])}, cell, {"label"})
    assert error.hint.startswith("--decimal , where a comma")
    assert error.hint.endswith("taamctl docs text-to-features")
    assert "--label" not in error.hint
