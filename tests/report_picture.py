"""Take the picture of the README: the first screen of a report, in headless Chromium.

taamctl run --dataset photo --method taam --method linear_probe --method analytic
python tests/report_picture.py outputs/report/report.html taamctl/docs/report.png
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COLOURS = 128  # of the picture: tables and curves need no more


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1100)
    parser.add_argument("--height", type=int, default=760)
    asked = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no Chromium here", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--window-size={asked.width},{asked.height}",
                f"--screenshot={shot}",
                asked.page.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
        )
        Image.open(shot).convert("RGB").quantize(COLOURS).save(asked.picture, optimize=True)
    print(f"{asked.picture}: {asked.picture.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
