"""Task-ID decisions on real graphs: what profile and metric do, apart."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from taamctl.core import registry
from taamctl.core.types import Array
from taamctl.features import group_features
from taamctl.learning.routing import task_id
from taamctl.params.binding import bind
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams
from taamctl.stream.task_split import Facts, make_split

INFER = bind(InferParams, read(PACKAGED)["infer"], "infer", [])


@cache
def means(dataset: str, root: Path) -> tuple[Array, Array]:
    """Return hop means [G, J, F] and LS means [G, 2, F] of a data set with the packaged
    parameters.
    """
    module = registry.load("taamctl.datasets", dataset)
    tree = read(PACKAGED)
    split_params, pre = (
        bind(SplitParams, tree["split"], "split", []),
        bind(PrecomputeParams, tree["precompute"], "precompute", []),
    )
    raw, facts = module.load(root, None), Facts(module.META.directed, module.META.unlabelled_as)
    split = make_split(raw, facts, split_params)
    made = group_features.compute_all(
        raw.features,
        split.orig_id,
        split.offset,
        split.edges,
        dataclasses.replace(pre, hops=0),
        module.META.feature_norm,
    )
    return np.stack([g.hop_mean for g in made]), np.stack([g.ls_mean for g in made])


def choices(dataset: str, root: Path, part: int = 2, **changes: object) -> list[int]:
    hop, ls = means(dataset, root)
    params = dataclasses.replace(INFER, **changes)
    train, query = (
        task_id.profiles([(hop[g], ls[g]) for g in range(p, len(hop), 3)], params)
        for p in (0, part)
    )
    made = task_id.decide(query, train, params.metric)
    decisions: list[int] = made.choice[-1].tolist()
    return decisions


@pytest.mark.parametrize("dataset", ["citeseer", "photo", "computer"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"metric": "euclid"},
        {"hops": {0: 1.0}},
        {"profile": "mean"},
        {"profile": "ls", "metric": "cosine"},
        {"profile": "ls", "metric": "euclid", "ls_trailing_norm": False},
    ],
    ids=["amp-cosine", "amp-euclid", "hop0", "mean", "ls-cosine", "ls-untrailed-euclid"],
)
@pytest.mark.parametrize("part", [1, 2], ids=["val", "test"])
def test_every_profile_is_right_but_ls_with_its_trailing_norm_and_euclid(
    dataset: str, changes: dict, part: int, shared_data: Path
) -> None:
    got = choices(dataset, shared_data, part, **changes)
    assert got == list(range(len(got)))


@pytest.mark.parametrize(
    ("dataset", "decisions"), [("photo", [0, 0, 0, 2]), ("computer", [3, 3, 0, 3, 3])]
)
def test_ls_with_euclid_fails_as_the_papers_tpp_does(
    dataset: str, decisions: list[int], shared_data: Path
) -> None:
    assert choices(dataset, shared_data, profile="ls", metric="euclid") == decisions
    assert np.sum(np.array(decisions) == np.arange(len(decisions))) == 1
