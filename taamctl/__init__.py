"""taamctl: graph class-incremental learning as a staged, cacheable pipeline."""

from __future__ import annotations

from typing import Any

__all__ = ["load_bank"]


def __getattr__(name: str) -> Any:
    """Import what Python code uses when it is asked for: `import taamctl` alone loads nothing
    heavy.
    """
    if name == "load_bank":
        from taamctl.bank.bank import load_bank

        return load_bank
    raise AttributeError(f"module 'taamctl' has no attribute {name!r}")
