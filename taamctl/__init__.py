"""taamctl: graph class-incremental learning as a staged, cacheable pipeline.

`load_bank(path)` opens a model that grows; `NodeGraph` is a graph in memory, as it answers one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taamctl.bank.bank import Bank as Bank
    from taamctl.bank.bank import load_bank as load_bank
    from taamctl.core.errors import TaamctlError as TaamctlError
    from taamctl.core.types import NodeGraph as NodeGraph

    __version__: str

__all__ = ["Bank", "NodeGraph", "TaamctlError", "__version__", "load_bank"]
_HOMES = {
    "Bank": "taamctl.bank.bank",
    "load_bank": "taamctl.bank.bank",
    "TaamctlError": "taamctl.core.errors",
    "NodeGraph": "taamctl.core.types",
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
