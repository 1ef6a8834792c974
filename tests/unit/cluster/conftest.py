"""One Dask cluster of two worker processes for all tests of this folder.

A method of another package goes along, so that workers have to find it too; it can be told to kill
its worker, or to refuse.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taamctl.core import registry

TRAPPED = '''
    import os, signal
    from dataclasses import dataclass
    from pathlib import Path

    from taamctl.core.errors import TaamctlError
    from taamctl.core.spec import param
    from taamctl.learning.families.sequential import SequentialMethod
    from taamctl.methods import finetune


    @dataclass(frozen=True)
    class Params:
        folder: str = param("where it looks what to do")


    DEFAULTS = {"folder": "/nowhere"}


    class Method(finetune.Method):
        """Finetuning that does what files say. Source: none."""

        def learn(self, tasks, *more):
            told = Path(self.params.folder)
            if tasks[-1].task.index == 2 and (told / "die").is_file():
                (told / "die").unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            if tasks[-1].task.index == 1 and (told / "refuse").is_file():
                with (told / "refuse").open("a") as said:
                    said.write("no\\n")
                raise TaamctlError("this is no method", "choose another one")
            return super().learn(tasks, *more)
'''


@pytest.fixture(scope="package")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder that the method `trapped` looks into; the method is installed for the tests
    of this folder.
    """
    folder = tmp_path_factory.mktemp("trapped")
    (folder / "trapped.py").write_text(textwrap.dedent(TRAPPED))
    (folder / "trapped-1.0.dist-info").mkdir()
    (folder / "trapped-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: trapped\nVersion: 1.0\n"
    )
    (folder / "trapped-1.0.dist-info" / "entry_points.txt").write_text(
        "[taamctl.methods]\ntrapped = trapped\n"
    )
    sys.path.insert(0, str(folder))
    registry.offers.cache_clear()
    yield folder
    sys.path.remove(str(folder))
    registry.offers.cache_clear()


@pytest.fixture(scope="package")
def cluster(told: Path) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs the dask extra")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=None
    ) as made:
        yield made


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client

    with Client(cluster, set_as_default=False) as made:
        made.wait_for_workers(2, timeout=120)  # one may have been killed just now
        yield made
