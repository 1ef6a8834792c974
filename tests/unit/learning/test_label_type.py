"""Predictions take the smallest type that holds every class."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from taamctl.core.types import SCOPES, QueryGraph, StreamInfo
from taamctl.learning.routing.queries import predict_stream


class Last:
    """Says the last class of all nodes."""

    scope, cumulative = "all_seen", False

    def __init__(self, classes: int) -> None:
        self.info = StreamInfo(1, ((0, classes),))

    def shared(self) -> dict[str, object]:
        return {}

    def load(self, *_: object) -> None:
        pass

    def trains(self, stage: int) -> bool:
        return stage == 0

    def logits(self, query: QueryGraph, chosen: int) -> torch.Tensor:
        made = torch.zeros(len(query.h), self.info.num_classes)
        made[:, -1] = 1 + chosen
        return made

    def scopes(self, logits: torch.Tensor, chosen: int) -> SimpleNamespace:
        return SimpleNamespace(labels=dict.fromkeys(SCOPES, logits.argmax(1) + 0 * chosen))


@pytest.mark.parametrize(
    ("classes", "kind"), [(1, np.int16), (32_768, np.int16), (32_769, np.int32)]
)
def test_the_last_class_is_held(classes: int, kind: type) -> None:
    query = QueryGraph(torch.ones(3, 1), torch.ones(3), {})
    found = predict_stream(Last(classes), [{}], [query], np.zeros((1, 1), int))
    for predicted in found.values():
        assert predicted.dtype == kind
        assert predicted.tolist() == [[classes - 1] * 3]
