"""taamctl: graph class-incremental learning as a staged, cacheable pipeline.

`load_bank(path)` opens a model that grows; `NodeGraph` is a graph in memory, as it answers one.
`graph_of(object)` makes one from what other libraries hold; `save_graph(graph, name)` keeps it;
`to_scipy`, `to_pyg` and `to_dgl` turn one into their objects.
`run(...)` walks the stages, `load_results()` gives what they found as a pandas table,
`figure(kind)` a figure as a matplotlib object. `predict(bank, arrays)` answers, `score` says how
right it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taamctl.bank.bank import Bank as Bank
    from taamctl.bank.bank import load_bank as load_bank
    from taamctl.bank.score import score as score
    from taamctl.core.errors import TaamctlError as TaamctlError
    from taamctl.core.types import NodeGraph as NodeGraph
    from taamctl.exporting.python_objects import to_dgl as to_dgl
    from taamctl.exporting.python_objects import to_pyg as to_pyg
    from taamctl.exporting.python_objects import to_scipy as to_scipy
    from taamctl.importing.import_graph import save_graph as save_graph
    from taamctl.importing.python_graphs import graph_of as graph_of
    from taamctl.notebook.results_frame import figure as figure
    from taamctl.notebook.results_frame import load_results as load_results
    from taamctl.notebook.run_here import predict as predict
    from taamctl.notebook.run_here import run as run

    __version__: str

__all__ = [
    "Bank",
    "NodeGraph",
    "TaamctlError",
    "__version__",
    "figure",
    "graph_of",
    "load_bank",
    "load_results",
    "predict",
    "run",
    "save_graph",
    "score",
    "to_dgl",
    "to_pyg",
    "to_scipy",
]
_HOMES = {
    "Bank": "taamctl.bank.bank",
    "load_bank": "taamctl.bank.bank",
    "TaamctlError": "taamctl.core.errors",
    "NodeGraph": "taamctl.core.types",
    "graph_of": "taamctl.importing.python_graphs",
    "save_graph": "taamctl.importing.import_graph",
    "score": "taamctl.bank.score",
    **dict.fromkeys(("to_dgl", "to_pyg", "to_scipy"), "taamctl.exporting.python_objects"),
    **dict.fromkeys(("figure", "load_results"), "taamctl.notebook.results_frame"),
    **dict.fromkeys(("predict", "run"), "taamctl.notebook.run_here"),
}


def __getattr__(name: str) -> Any:
    """Import what Python code uses when it is asked for: `import taamctl` loads nothing heavy."""
    import importlib
    from importlib import metadata

    if name == "__version__":
        return metadata.version("taamctl")
    if name in _HOMES:
        from taamctl.core.this_system import require_machine

        require_machine()
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'taamctl' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is public."""
    return sorted({*globals(), *__all__})
