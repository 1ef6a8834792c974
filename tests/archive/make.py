"""Make an archive entry: every kind of file that this version of taamctl writes, of a tiny graph.

    python tests/archive/make.py tests/archive/NAME.zip

Only verbs and options that have been there since the first bank are used, so that the script also
runs with an earlier version of the package.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

CLASSES, PER_CLASS, FEATURES = ("ash", "birch", "cedar", "durian"), 12, 8
METHOD = "linear_probe"  # its files are small: it has no backbone of 256 x 256
GRID = ("--dataset", "tiny", "--method", METHOD, "--seed", "1")
SMALL = (
    *("train.epochs=3", "train.threads=1", "train.device=cpu", "report.pictures=false"),
    *("bank.router.width=12", "lens.router.width=12", "lens.batches=[2, 5]"),
    "precompute.max_hop=3",
)
SETTINGS = tuple(word for setting in SMALL for word in ("--set", setting))
TEACH = ("bank", "add-task", "bank", "--graph", "data/tiny.h5", "--quiet", "--classes")
KEPT = (
    "answers.csv",
    "data/*.h5",
    "outputs/**/*.h5",
    "outputs/**/*.json",
    "bank/**/*.h5",
    "bank/**/*.json",
)


def write_tables(folder: Path) -> None:
    """Write nodes.csv and edges.csv: four classes of twelve nodes, tied inside a class mostly."""
    rng = np.random.default_rng(0)
    nodes = len(CLASSES) * PER_CLASS
    label = np.repeat(np.arange(len(CLASSES)), PER_CLASS)
    x = (rng.random((len(CLASSES), FEATURES))[label] + 0.2 * rng.random((nodes, FEATURES))).round(3)
    names = [f"width_{i}" for i in range(FEATURES)]
    lines = [",".join(["id", "label", *names])]
    for node in range(nodes):
        lines.append(",".join([f"n{node}", CLASSES[label[node]], *map(str, x[node])]))
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    near = [(u, PER_CLASS * (u // PER_CLASS) + (u + 1) % PER_CLASS) for u in range(nodes)]
    far = [(u, (u + 3 * PER_CLASS + 5) % nodes) for u in range(0, nodes, 4)]
    text = "".join(f"n{u},n{v}\n" for u, v in (*near, *far))
    (folder / "edges.csv").write_text(f"source,target\n{text}", encoding="utf-8")


def taamctl(folder: Path, *arguments: str) -> str:
    """Run `taamctl ARGUMENTS` in a folder and return what it prints."""
    command = (sys.executable, "-m", "taamctl", *arguments)
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def make(folder: Path) -> None:
    """Fill a folder with one file of every kind."""
    write_tables(folder)
    taamctl(folder, "data", "import", "nodes.csv", "edges.csv", "--name", "tiny")
    taamctl(folder, "run", *GRID, *SETTINGS, "--quiet")
    taamctl(folder, "eval", "--lens", *GRID, *SETTINGS)
    taamctl(folder, "report", *GRID, *SETTINGS)
    taamctl(folder, "bank", "create", "bank", "--method", METHOD, "--seed", "1", *SETTINGS)
    taamctl(folder, *TEACH, ",".join(CLASSES[:2]))
    taamctl(folder, *TEACH, ",".join(CLASSES[2:]))
    answers = taamctl(folder, "predict", "--bank", "bank", "--graph", "data/tiny.h5", "--quiet")
    (folder / "answers.csv").write_text(answers, encoding="utf-8")


def pack(folder: Path, target: Path) -> None:
    """Put what is kept of a folder into a zip; the same files give the same bytes."""
    found = {path for pattern in KEPT for path in folder.glob(pattern)}
    found = {path for path in found if not path.name.startswith(".")}  # locks, checkpoints
    found = {path for path in found if not path.name.endswith(".provenance.json")}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(found):
            member = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, path.read_bytes())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        make(Path(temporary))
        pack(Path(temporary), Path(sys.argv[1]))
