"""What is installed, on which device, with which threads, and what clashes there."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass
class Installation:
    """What the doctor looked at, and what clashes there."""

    versions: dict[str, object]
    clashes: list[dict[str, str]] = field(default_factory=list)
    device: dict[str, object] = field(default_factory=dict)
    threads: dict[str, object] = field(default_factory=dict)
    backends: dict[str, object] = field(default_factory=dict)

    def clash(self, what: str, fix: str) -> None:
        """Add a clash."""
        self.clashes.append({"what": what, "fix": fix})


def examine() -> Installation:
    """Look at the installation; import what may fail, and say what failed and how to mend it."""
    from taamctl.runtime import provenance

    found = Installation(dict(provenance.versions()))
    try:
        _look_at_torch(found)
    except (ImportError, OSError) as error:
        found.device = {"cuda": "unknown"}
        found.threads = {"cpus": os.cpu_count()}
        found.clash(f"torch cannot be imported ({error})", "pip install 'torch>=2.7'")
    found.threads |= {name: os.environ.get(name, "unset") for name in THREADS}
    _try_backends(found)
    return found


def _look_at_torch(found: Installation) -> None:
    import torch

    from taamctl.core import subnormals

    device = "none"
    if torch.cuda.is_available():
        device = torch.cuda.get_device_name()
    found.device = {"cuda": device, "torch_cuda_build": str(torch.version.cuda or "CPU only")}
    rule = "kept, which this processor may be slow at"
    with subnormals.flushed():
        if subnormals.flushes_here():
            rule = subnormals.RULE
    found.threads = {
        "torch": torch.get_num_threads(),
        "cpus": os.cpu_count(),
        "subnormal numbers": rule,
    }


def _try_backends(found: Installation) -> None:
    """Try one propagation step with every backend."""
    import numpy as np

    from taamctl.core.errors import TaamctlError
    from taamctl.core.types import CSR
    from taamctl.propagation.backends import BACKENDS
    from taamctl.propagation.operator import build

    edges = CSR(np.array([0, 1, 2]), np.array([1, 0], np.int32), None, (2, 2))
    for name, make in BACKENDS.items():
        try:
            right = np.allclose(make(build(edges, "add"))(np.eye(2, dtype=np.float32)), 0.5)
        except (TaamctlError, ImportError, OSError, RuntimeError) as error:
            first = str(error).splitlines()[0]
            found.backends[name] = f"not usable: {first}"
            if name == "torch":
                fix = "reinstall torch, or set precompute.backend to scipy"
                found.clash(f"backend torch: {error}", fix)
            # There is no wheel for newer versions: absent there is no clash.
            if name == "dgl" and sys.version_info < (3, 12):
                fix = "pip install 'dgl>=1.1.3,<2' packaging; everything else works without it"
                found.clash(f"backend dgl: {first}", fix)
            continue
        found.backends[name] = "works"
        if not right:
            found.backends[name] = "wrong result"
            fix = "set precompute.backend to scipy"
            found.clash(f"backend {name} gives a wrong result", fix)
