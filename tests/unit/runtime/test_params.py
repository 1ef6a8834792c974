from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import canonical_json
from taamctl.params import params_file
from taamctl.params.binding import bind
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.recorded_params import recorded
from taamctl.params.sections import check
from taamctl.params.train_params import InferParams, TrainParams


def test_the_packaged_file_is_complete_and_right() -> None:
    check("params.yaml", read(PACKAGED), {})


def test_all_faults_are_reported_in_one_message() -> None:
    tree = read(PACKAGED)
    tree["train"]["epochs"] = 0
    tree["train"]["lr"] = "fast"
    tree["train"]["devise"] = "cpu"
    del tree["split"]["seed"]
    tree["infer"]["metric"] = "cosin"
    tree["methods"]["tamm"] = {}
    tree["optimiser"] = {}
    with pytest.raises(TaamctlError) as caught:
        check("p.yaml", tree, {})
    text = caught.value.message
    assert text.startswith("p.yaml: 7 faults")
    for line in (
        "train.epochs: 0 must be >= 1",
        "train.lr: 'fast' is no finite number",
        "train.devise: unknown key; did you mean device?",
        "split.seed: missing",
        "'cosin' is not one of as_published, cosine, euclid, centred; did you mean cosine?",
        "methods.tamm: unknown key; did you mean taam?",
        "optimiser: unknown key",
    ):
        assert line in text, line


def test_equal_parameters_have_one_canonical_text() -> None:
    base = read(PACKAGED)
    first = bind(TrainParams, {**base["train"], "lr": 1}, "train", [])
    second = bind(TrainParams, {**base["train"], "lr": 1.0}, "train", [])
    assert canonical_json(first) == canonical_json(second)
    same = ({0: 1, 2: 1}, {2: 1.0, 0: 1}, [0, 2], [2, 0])
    assert (
        len(
            {
                canonical_json(bind(InferParams, {**base["infer"], "hops": h}, "infer", []))
                for h in same
            }
        )
        == 1
    )


@pytest.mark.parametrize(
    ("value", "ok"),
    [(5, True), (5.0, True), (5.5, False), (True, False), ("5", False), (None, False)],
)
def test_whole_numbers(value: object, ok: bool) -> None:
    faults: list[str] = []
    bind(TrainParams, {**read(PACKAGED)["train"], "epochs": value}, "train", faults)
    assert (not faults) is ok


@pytest.mark.parametrize("value", ["5e-4", 5e-4, 1])
def test_floats_that_yaml_reads_as_text_are_taken(value: object) -> None:
    faults: list[str] = []
    made = bind(TrainParams, {**read(PACKAGED)["train"], "lr": value}, "train", faults)
    assert not faults
    assert made.lr == float(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "nan"])
def test_numbers_must_be_finite(value: object) -> None:
    faults: list[str] = []
    bind(TrainParams, {**read(PACKAGED)["train"], "lr": value}, "train", faults)
    assert "finite" in faults[0]


def test_overrides_are_yaml_and_must_name_a_key() -> None:
    assert read(PACKAGED, ["infer.hops={0: 1}", "train.lr=1e-2"])["infer"]["hops"] == {0: 1}
    with pytest.raises(TaamctlError, match="no such parameter") as caught:
        read(PACKAGED, ["train.leanring=1"])
    assert "train." in caught.value.hint
    with pytest.raises(TaamctlError, match="no value"):
        read(PACKAGED, ["train.lr"])


def test_a_blank_that_lacks_behind_a_colon_is_told() -> None:
    tree = read(PACKAGED, ["infer.hops={2:1, 0:0.5}"])
    faults: list[str] = []
    assert bind(InferParams, tree["infer"], "infer", faults) is None
    assert [one.partition("; ")[2] for one in faults] == [
        "a blank belongs behind a colon: {2: 1, 0: 0.5}"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "no valid YAML"), ("- 1\n- 2\n", "no mapping of sections"), ("", "no mapping")],
)
def test_broken_files(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(text)
    with pytest.raises(TaamctlError, match=message):
        read(file)


def test_fractions_are_checked_together() -> None:
    tree = read(PACKAGED)
    tree["split"]["train"] = 0.9
    with pytest.raises(TaamctlError, match="must be 1"):
        check("p.yaml", tree, {})


def test_the_packaged_file_is_the_one_at_the_top() -> None:
    top = Path(__file__).resolve().parents[3] / "params.yaml"
    assert yaml.safe_load(top.read_text()) == read(PACKAGED)


def test_parameters_come_back_from_what_an_artefact_records() -> None:
    import json

    made = bind(InferParams, read(PACKAGED)["infer"], "infer", [])
    again = recorded(InferParams, json.loads(canonical_json(made)), Path("x.h5"), "taamctl infer")
    assert again == made  # JSON has text as keys


def test_what_another_version_recorded_is_named() -> None:
    older = {k: v for k, v in read(PACKAGED)["infer"].items() if k != "alpha"}
    with pytest.raises(
        TaamctlError,
        match="x.h5 was made by another version, with other parameters: recorded.alpha: missing",
    ) as caught:
        recorded(InferParams, older, Path("x.h5"), "taamctl infer")
    assert caught.value.hint == "make it again with: taamctl infer"
    assert recorded(None, {}, Path("x.h5"), "") is None


def _bomb(levels: int) -> str:
    """Return YAML whose aliases stand for 10^levels values."""
    lines = ["x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for at in range(1, levels):
        lines.append(f"x{at}: &x{at} [{', '.join([f'*x{at - 1}'] * 10)}]")
    return "\n".join(lines) + "\n"


def _nested(levels: int) -> str:
    return "a: " + "[" * levels + "]" * levels + "\n"


def _chain(levels: int) -> str:
    """Return YAML whose aliases lie in each other."""
    return "x0: &x0 [1]\n" + "".join(f"x{i}: &x{i} [*x{i - 1}]\n" for i in range(1, levels))


@pytest.mark.parametrize(
    "text",
    [
        *("a: !!int x", "a: !!float y", "a: !!timestamp z", "? [a]\n: 1", _bomb(9), "a: &a [*a]"),
        *(_nested(60), _nested(2000), _nested(100_000), _chain(60), _chain(5000)),
    ],
)
def test_yaml_that_cannot_be_read_is_refused_at_once(tmp_path: Path, text: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TaamctlError, match="no valid YAML"):
        params_file.read(path)


@pytest.mark.parametrize("value", ["!!int x", "{a: 1, a: 2}", "{" + _bomb(9).replace("\n", ", ")])
def test_an_override_that_cannot_be_read_is_refused_at_once(value: str) -> None:
    with pytest.raises(TaamctlError, match="is no YAML value"):
        params_file.set_value({"train": {"lr": 1}}, f"train.lr={value}")


def test_aliases_within_reason_are_read(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("a: &a {x: 1}\nb: *a\n", encoding="utf-8")
    assert params_file.read(path) == {"a": {"x": 1}, "b": {"x": 1}}
    path.write_text(_nested(30) + _chain(30), encoding="utf-8")
    assert len(params_file.read(path)) == 31
