"""A headless Chromium, driven by its own protocol over a pipe: what a page does, asks for, and looks like."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

CONTRAST = Path(__file__).parent / "contrast.js"
"""A program for a page: the least contrast of its texts with what is behind them."""

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync"),
)


class Browser:
    """One page of a browser. `errors` are what its console complained of, `requests` the addresses it asked for."""

    def __init__(self, send: int, receive: int) -> None:
        self.send, self.receive = send, receive
        self.buffer, self.number, self.session = b"", 0, ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.loaded = 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log", "Performance"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the DevTools protocol."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.send, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self.number:
            self._note(answer)
        assert "error" not in answer, answer
        return cast(dict[str, Any], answer["result"])

    def open(self, address: str, width: int = 1280, height: int = 900, dark: bool = False) -> float:
        """Seconds until the page had loaded and was drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self._go("about:blank")
        began = time.monotonic()
        self._go(address)
        self.ask("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(1), 0)))")
        return time.monotonic() - began

    @property
    def processor_seconds(self) -> float:
        """Seconds of processor time that the process of the page has taken, however busy the machine is otherwise."""
        found = self.call("Performance.getMetrics")["metrics"]
        return cast(float, {one["name"]: one["value"] for one in found}["ProcessTime"])

    def ask(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path: Path, selector: str = "", most: int = 2400) -> None:
        """Writes a picture of the page, or of what a selector finds, so many pixels high at most."""
        box = self.ask(
            f"(() => {{ const box = document.querySelector({json.dumps(selector or 'body')}).getBoundingClientRect();"
            "return [box.left + scrollX, box.top + scrollY, box.width, box.height]; })()"
        )
        clip = {"x": max(0, box[0] - 16), "y": max(0, box[1]), "width": box[2] + 32, "height": min(box[3], most)}
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**clip, "scale": 1})
        path.write_bytes(base64.b64decode(found["data"]))

    def _go(self, address: str) -> None:
        self.loaded = 0
        self.call("Page.navigate", url=address)
        while not self.loaded:
            self._note(self._next())

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            got = os.read(self.receive, 1 << 20)
            assert got, "the browser is gone"
            self.buffer += got
        message, _, self.buffer = self.buffer.partition(b"\0")
        return cast(dict[str, Any], json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        method, told = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" or (method == "Log.entryAdded" and told["entry"]["level"] != "info"):
            self.errors.append(str(told))


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with an empty profile, which is gone afterwards."""
    assert CHROMIUM, "no chromium in PATH: apt-get install chromium"
    to_read, send = os.pipe()
    receive, to_write = os.pipe()

    def pipes() -> None:
        # Chromium reads commands from descriptor 3 and answers on 4; 10 and 11 keep the two apart while they move.
        os.dup2(to_read, 10)
        os.dup2(to_write, 11)
        os.dup2(10, 3)
        os.dup2(11, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        try:
            yield Browser(send, receive)
        finally:
            os.close(send)
            os.close(receive)
            process.kill()
            process.wait()
