"""Little memory ends before a matrix product, not in the middle of one."""

import os
import subprocess
import sys

import pytest

CODE = """
import resource
import numpy as np
import psutil
from scipy.linalg.blas import dgemm
from taamctl.core import blas_buffers

square = np.asfortranarray(np.random.default_rng(0).random((500, 500)))
into = np.empty(square.shape)

def leave(room):
    mapped = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (mapped + room, resource.RLIM_INFINITY))

for take in (blas_buffers.take_for_numpy, blas_buffers.take_for_scipy):
    leave(30 << 20)
    try:
        take()
    except MemoryError as error:
        print(error)
    leave(blas_buffers.ROOM + (8 << 20))
    take()
leave(1 << 20)
take()
np.dot(square, square, out=into)
dgemm(1.0, square, square, c=into.T, overwrite_c=True)
print("done")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory")
def test_a_product_needs_no_memory_once_its_buffer_is_there() -> None:
    """Without the call, NumPy's product ends the process and SciPy's never comes to an end."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    refused = "no room for the buffer of a matrix product"
    assert done.stdout.splitlines() == [refused, refused, "done"]
