"""Compare what two versions of the code make of the same data: artefact by artefact, array by
array.

    python tests/same_bytes.py run OUTPUTS           # train five methods on four graphs
    python tests/same_bytes.py record OUTPUTS FILE   # write checksums of what lies there
    python tests/same_bytes.py compare FILE OTHER    # exit 1 where an array or a number differs

`run` needs the raw files of Citeseer, Photo and Computer below the data root; it takes some
minutes. Run `run` and `record` with the old code, then with the new one, with as many threads.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

GRAPHS = ("citeseer", "photo", "computer", "debian")
METHODS = ("taam", "linear_probe", "analytic", "ergnn", "tpp")
TAAMCTL = (sys.executable, "-m", "taamctl")
Record = dict[str, dict[str, str]]


def run(outputs: Path) -> None:
    """Train and evaluate everything that is compared, with seed 1."""
    command = [*TAAMCTL, "run", "--seed", "1", "--outputs", str(outputs)]
    for graph in GRAPHS:
        command += ["--dataset", graph]
    for method in METHODS:
        command += ["--method", method]
    settings = ("train.threads=2", "report.pictures=false")
    for setting in settings:
        command += ["--set", setting]
    subprocess.run(command, check=True)


def record(outputs: Path) -> Record:
    """Return the checksums of every artefact: `file` of its bytes, one more for every array or
    number in it.
    """
    found: Record = {}
    for path in sorted(outputs.rglob("*.h5")):
        if not path.name.startswith("."):
            found[path.relative_to(outputs).as_posix()] = {"file": _sha256(path), **_arrays(path)}
    for path in sorted(outputs.rglob("eval.json")):
        numbers = _numbers(json.loads(path.read_text(encoding="utf-8")))
        found[path.relative_to(outputs).as_posix()] = {"file": _sha256(path), **numbers}
    return found


def differences(old: Record, new: Record) -> tuple[list[str], list[str]]:
    """Return (what differs in an array or a number, files that differ in their bytes alone)."""
    wrong: list[str] = []
    bytes_only: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            wrong.append(f"{name}: only in {'the new' if name in new else 'the old'}")
            continue
        changed = [
            key
            for key, value in old[name].items()
            if key != "file" and new[name].get(key, "") != value
        ]
        wrong += [f"{name}: {key}" for key in changed]
        if not changed and old[name]["file"] != new[name]["file"]:
            bytes_only.append(name)
    return wrong, bytes_only


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _arrays(path: Path) -> dict[str, str]:
    """Return the checksum of every array of an HDF5 file, with its shape and dtype."""
    found: dict[str, str] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            array = np.asarray(item[()])
            content = (
                b"\0".join(array.ravel().tolist()) if array.dtype == object else array.tobytes()
            )
            digest = hashlib.sha256(content).hexdigest()
            found[f"array {name}"] = f"{item.shape} {item.dtype} {digest}"

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def _numbers(value: object, where: str = "") -> dict[str, str]:
    """Return every number, text and null of a JSON value by its path."""
    if isinstance(value, dict):
        pairs = [(f"{where}.{key}", item) for key, item in value.items()]
    elif isinstance(value, list):
        pairs = [(f"{where}.{at}", item) for at, item in enumerate(value)]
    else:
        return {where: json.dumps(value)}
    found: dict[str, str] = {}
    for place, item in pairs:
        found |= _numbers(item, place)
    return found


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=("run", "record", "compare"))
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path, nargs="?")
    asked = parser.parse_args()
    if asked.verb == "run":
        run(asked.first)
        return 0
    if asked.second is None:
        parser.error(f"{asked.verb} needs two paths")
    if asked.verb == "record":
        asked.second.write_text(json.dumps(record(asked.first), indent=1) + "\n", encoding="utf-8")
        return 0
    old, new = (
        json.loads(path.read_text(encoding="utf-8")) for path in (asked.first, asked.second)
    )
    wrong, bytes_only = differences(old, new)
    print(f"{len(old)} files, {len(wrong)} arrays or numbers differ")
    for line in wrong:
        print(f"  {line}")
    print(f"{len(bytes_only)} files have other bytes and the same arrays: {', '.join(bytes_only)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
