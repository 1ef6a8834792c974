"""A headless Chromium, steered over a pipe by its own protocol: no driver and no library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--remote-debugging-pipe"),
)
# What says that a page is not as it should be: an exception, an error, a wish for the network.
TROUBLE = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")


def executable() -> str | None:
    """Return a Chromium of this machine, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a running browser."""

    def __init__(self, program: str) -> None:
        self.folder = tempfile.mkdtemp()
        down, self._to = os.pipe()
        self._from, up = os.pipe()
        # The browser reads its descriptor 3 and writes its descriptor 4.
        shell = f'exec 3<&{down} 4>&{up}; exec "$0" "$@"'
        call = ["bash", "-c", shell, program, *OPTIONS, f"--user-data-dir={self.folder}"]
        self._process = subprocess.Popen(
            call, pass_fds=(down, up), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        os.close(down)
        os.close(up)
        self._rest = b""
        self._count = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer to one command; events that come first are kept."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._from, 1 << 16)
            assert read, "the browser ended"
            self._rest += read
        one, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(one))

    def open(self, path: Path, width: int = 1280, *, dark: bool = False) -> None:
        """Show a page and wait until it is there."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._next())

    def run(self, script: str) -> Any:
        """Return what a script in the page returns."""
        made = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in made, made
        return made["result"].get("value")

    def trouble(self) -> list[dict[str, Any]]:
        """Return what the page said or threw since it was opened."""
        return [e for e in self.events if e.get("method") in TROUBLE]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the page was opened, itself left out."""
        sent = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        urls = [str(e["params"]["request"]["url"]) for e in sent]
        return [url for url in urls if not url.startswith(("data:", "file:"))]
