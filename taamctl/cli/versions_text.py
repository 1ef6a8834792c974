"""The versions that matter: what `--version` prints."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib import metadata

# What can change a result, or how it is run; nothing is imported to ask for a version.
MATTER = ("torch", "numpy", "scipy", "scikit-learn", "h5py", "dgl", "dvc")


def lines() -> list[str]:
    """Return the version of taamctl on a line of its own, then those of what it runs on."""
    found = [f"Python {platform.python_version()}"]
    for name in MATTER:
        version = "not installed"
        with suppress(metadata.PackageNotFoundError):
            version = metadata.version(name)
        found.append(f"{name} {version}")
    return [f"taamctl {metadata.version('taamctl')}", ", ".join(found)]
