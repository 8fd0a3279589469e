"""Controls a headless Chromium over a pipe. The DevTools protocol needs only Python's standard library."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find() -> str | None:
    """Return the browser's path: $CHROMIUM, or the first of the usual names that is installed."""
    return next(filter(None, map(shutil.which, filter(None, (os.environ.get("CHROMIUM"), *NAMES)))), None)


class Browser:
    """A browser with one page at a time. `problems` contains the page's console output and its uncaught exceptions."""

    def __init__(self, path: str, seconds: float = 60):
        self.seconds = seconds
        self.problems: list[str] = []
        self._folder = tempfile.mkdtemp(prefix="warpaes-browser-")
        ours_out, theirs_in = self._pipe()
        theirs_out, ours_in = self._pipe()

        def as_three_and_four():
            os.dup2(ours_out, 3)
            os.dup2(ours_in, 4)

        self._process = subprocess.Popen(
            [
                path,
                "--headless",
                "--remote-debugging-pipe",
                f"--user-data-dir={self._folder}",
                "--no-first-run",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=as_three_and_four,
            pass_fds=(3, 4),
        )
        os.close(ours_out)
        os.close(ours_in)
        self._write, self._read = theirs_in, theirs_out
        self._buffer, self._events, self._last, self._session = b"", [], 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    @staticmethod
    def _pipe() -> tuple[int, int]:
        """Return the read end and the write end of a pipe. Neither is descriptor 3 or 4, which the browser uses."""
        ends = os.pipe()
        high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
        for end in ends:
            os.close(end)
        return high

    def close(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self.call("Browser.close")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method: str, **parameters) -> dict:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._until(lambda answer: answer.get("id") == self._last, method)

    def _until(self, wanted, what: str) -> dict:
        end = time.monotonic() + self.seconds
        while True:
            message = self._receive(end, what)
            if wanted(message):
                if "error" in message:
                    raise RuntimeError(f"{what}: {message['error']['message']}")
                return message.get("result", message)

    def _receive(self, end: float, what: str) -> dict:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0.0, end - time.monotonic()))[0]:
                raise RuntimeError(f"{what}: the browser did not answer within {self.seconds} s")
            more = os.read(self._read, 1 << 20)
            if not more:
                raise RuntimeError(f"{what}: the browser ended")
            self._buffer += more
        one, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(one)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, event: dict) -> None:
        if method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(a.get("value", a.get("description"))) for a in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.problems.append(event["entry"]["text"])

    def open(self, page: Path, width: int, *, dark: bool = False) -> None:
        """Open a file in a window that is 900 pixels high and has this width, and wait until the file is loaded."""
        self.call("Page.navigate", url="about:blank")
        self._until(lambda message: message.get("method") == "Page.loadEventFired", "about:blank")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.media("", dark=dark)
        self.call("Page.navigate", url=page.resolve().as_uri())
        self._until(lambda message: message.get("method") == "Page.loadEventFired", str(page))

    def media(self, medium: str, *, dark: bool = False) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=medium, features=[scheme])

    def value(self, script: str):
        """Return the value of a JavaScript expression. The browser returns it as JSON."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def screenshot(self) -> bytes:
        """Return a PNG of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])
