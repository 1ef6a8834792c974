"""The `precompute` section: propagation and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.spec import param


@dataclass(frozen=True)
class PrecomputeParams:
    """Propagation of raw features over the induced subgraphs."""

    hops: int = param("k of H = S^k X", ge=0, le=64)
    max_hop: int = param("highest j of the stored means of S^j X", ge=0, le=64)
    self_loops: str = param(
        "add: one loop more for every node (a node that had one gets weight 2); reset: exactly one",
        choices=("add", "reset"),
    )
    feature_norm: str = param(
        "as_released: as the usual reader does (Citeseer: row); none; row: divide by the row sum; "
        "column: divide every feature by the size of its values on the first task's training nodes",
        choices=("as_released", "none", "row", "column"),
    )
    backend: str = param(
        "torch, dgl or scipy; equal to rounding, not in every bit",
        choices=("torch", "dgl", "scipy"),
    )
    ls_hops: int = param("smoothing steps of the LS profile", ge=0, le=64)
    ls_reconnect: bool = param("LS: tie every isolated node to a random connected one first")
    ls_seed: int = param("seed of those ties", ge=0)
    store_x: bool = param("keep the raw features too (methods that declare a need for them)")
    store_edges: bool = param("keep the edges too (methods that declare a need for them)")

    def resolved_norm(self, as_released: str) -> str:
        """Return `none`, `row` or `column`.

        Args:
            as_released: what the data set's usual reader does.
        """
        return as_released if self.feature_norm == "as_released" else self.feature_norm

    @property
    def unused_libraries(self) -> tuple[str, ...]:
        """The libraries that no number depends on: that of the backend which is not chosen."""
        return () if self.backend == "dgl" else ("dgl",)
