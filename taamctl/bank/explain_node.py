"""Why a node is answered as it is: the classes whose means are nearest, what every hop alone says,
and its neighbours with their answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.bank.answers import Answers
from taamctl.bank.explanation import Explanation, HopSays, NearClass, Neighbour
from taamctl.bank.router import Router
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.learning.kernels.ridge import Lift

NEAREST = 5  # classes
LETTERS = 60  # of a name in a message


@dataclass(frozen=True)
class Why:
    """Of one node: probability of and likeness to every class, [C] each, and the probabilities by
    every hop alone.
    """

    probability: Array
    likeness: Array
    by_hop: Mapping[int, Array]


def row_of(name: str, names: Array | None, nodes: int) -> int:
    """Return the row of a node.

    Args:
        name: its name, or its number where nodes have no names.

    Raises:
        TaamctlError: there is no such node.
    """
    if names is not None:
        found = np.flatnonzero(np.asarray(names).astype(str) == name)
        if len(found):
            return int(found[0])
    elif name.isdecimal() and int(name) < nodes:
        return int(name)
    raise TaamctlError(
        f"--explain {name[:LETTERS]!r}: the graph has no such node among the {nodes:,} that are "
        "answered",
        "name a node as the column node of the answers does",
    )


def why(
    rows: Mapping[int, torch.Tensor],
    weights: Mapping[int, float],
    lift: Lift,
    router: Router,
    temperature: float,
    means: torch.Tensor,
) -> Why:
    """Look at one node.

    Args:
        rows: j -> its S^j X, [1, F]. means: [P, C] float64, mean profile of every class.
    """

    def probability(profile: torch.Tensor) -> Array:
        return torch.softmax(temperature * router.scores(profile), 1)[0].numpy()

    profile = lift.profile(rows, weights)
    likeness = torch.nn.functional.cosine_similarity(profile.double().T, means, dim=0)
    by_hop = {j: probability(lift.profile(rows, {j: 1.0})) for j in sorted(weights)}
    return Why(probability(profile), likeness.numpy(), by_hop)


def explained(answers: Answers, row: int, found: Why, near: Array) -> Explanation:
    """Return the explanation of a row.

    Args:
        near: rows that send to it; those after the answered ones are of the context.
    """
    names, label = answers.class_names, int(answers.label[row])
    order = np.argsort(-found.probability, kind="stable")[:NEAREST].tolist()
    hops = tuple(
        HopSays(hop, names[int(p.argmax())], float(p[label])) for hop, p in found.by_hop.items()
    )
    others = [v for v in np.unique(near).tolist() if v != row]
    answered = [v for v in others if v < len(answers.label)]
    return Explanation(
        *_said(answers, row),
        nearest=tuple(
            NearClass(
                names[c], answers.owner[c], float(found.probability[c]), float(found.likeness[c])
            )
            for c in order
        ),
        hops=hops,
        carried=max(hops, key=lambda each: each.of_the_answer).hop,
        neighbours=tuple(Neighbour(*_said(answers, v)) for v in answered),
        others=len(others) - len(answered),
    )


def _said(answers: Answers, row: int) -> tuple[str, str, float, bool]:
    return (
        str(answers.node[row]),
        answers.class_names[int(answers.label[row])],
        float(answers.confidence[row]),
        bool(answers.unknown[row]),
    )
