"""`taamctl doctor`."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
) -> None:
    """Name versions, device, propagation backends and thread settings, and any clash with its fix.

    Exit 1 on a clash.
    """
    facts = examine()
    if as_json:
        print(json.dumps(facts, indent=1))
    else:
        for section in ("versions", "device", "backends", "threads"):
            print(section)
            for name, value in facts[section].items():
                print(f"  {name:22s} {value}")
        for clash in facts["clashes"]:
            print(f"clash: {clash['what']}\n  fix: {clash['fix']}")
        if not facts["clashes"]:
            print("no clash found")
    if facts["clashes"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Look at the installation; import what may fail, and say what failed and how to mend it."""
    from taamctl.core import subnormals
    from taamctl.runtime import provenance

    clashes: list[dict[str, str]] = []
    facts: dict[str, Any] = {"versions": provenance.versions(), "clashes": clashes}
    try:
        import torch

        facts["device"] = {
            "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
            "torch_cuda_build": str(torch.version.cuda or "CPU only"),
        }
        with subnormals.flushed():
            flushed = subnormals.flushes_here()
        facts["threads"] = {
            "torch": torch.get_num_threads(),
            "cpus": os.cpu_count(),
            "subnormal numbers": subnormals.RULE
            if flushed
            else "kept, which this processor may be slow at",
        }
    except (ImportError, OSError) as error:
        facts["device"], facts["threads"] = {"cuda": "unknown"}, {"cpus": os.cpu_count()}
        clashes.append(
            {"what": f"torch cannot be imported ({error})", "fix": "pip install 'torch>=2.4'"}
        )
    facts["threads"] |= {
        name: os.environ.get(name, "unset")
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    }
    facts["backends"] = _backends(clashes)
    return facts


def _backends(clashes: list[dict[str, str]]) -> dict[str, str]:
    """Try one propagation step with every backend."""
    import numpy as np

    from taamctl.core.errors import TaamctlError
    from taamctl.core.types import CSR
    from taamctl.propagation.backends import BACKENDS
    from taamctl.propagation.operator import build

    edges = CSR(np.array([0, 1, 2]), np.array([1, 0], np.int32), None, (2, 2))
    found = {}
    for name, make in BACKENDS.items():
        try:
            right = np.allclose(make(build(edges, "add"))(np.eye(2, dtype=np.float32)), 0.5)
            found[name] = "works" if right else "wrong result"
            if not right:
                clashes.append(
                    {
                        "what": f"backend {name} gives a wrong result",
                        "fix": "set precompute.backend to scipy",
                    }
                )
        except (TaamctlError, ImportError, OSError, RuntimeError) as error:
            found[name] = f"not usable: {str(error).splitlines()[0]}"
            if name == "torch":
                clashes.append(
                    {
                        "what": f"backend torch: {error}",
                        "fix": "reinstall torch, or set precompute.backend to scipy",
                    }
                )
            if name == "dgl" and sys.version_info < (
                3,
                12,
            ):  # there is no wheel for newer versions: absent there is no clash
                clashes.append(
                    {
                        "what": f"backend dgl: {str(error).splitlines()[0]}",
                        "fix": "pip install 'dgl>=1.1.3,<2' packaging; everything else works "
                        "without it",
                    }
                )
    return found
