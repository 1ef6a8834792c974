"""CaT: condense and train.

The model is trained on condensed rows only, the current task's included.
"""

from __future__ import annotations

from taamctl.learning.contract.method import Facts
from taamctl.learning.families.condensed import CondensedMethod, CondensedParams

Params = CondensedParams


class Method(CondensedMethod):
    """Plain CE over the classes seen, on the condensed rows of all tasks so far; the net goes on
    from task to task. Class means are matched under many encoders, one update each.

    The encoders see H of real nodes and bare condensed rows. Its own metric is micro accuracy; the
    budget here is per class, so that it compares with the other memories. Source: Liu, Qiu and
    Huang (2023).
    """

    facts = Facts(
        title="CaT",
        family="replay",
        source="Liu, Qiu and Huang (2023)",
        needs=("x",),
        memory="condensed rows, b per class on average",
    )
