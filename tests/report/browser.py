"""A real browser for tests: headless Chromium, spoken to over a pipe in the Chrome DevTools protocol.

Only the standard library is used. The browser reads commands on its file descriptor 3 and answers on 4, JSON texts
that end with a zero byte.
"""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TIMEOUT = 60.0
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-default-browser-check",
    "--remote-debugging-pipe",
)


def executable() -> str | None:
    """Find a browser that speaks the protocol."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class BrowserError(RuntimeError):
    """The browser did not answer, or answered with an error."""


class Page:
    """One tab. Console errors, exceptions and requests are collected from the start."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._ids, self._buffer = itertools.count(1), b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path: Path, width: int = 1100, height: int = 900, *, dark: bool = False) -> None:
        """Open a file in a window of a size and wait until it is loaded."""
        self.events.clear()
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def resize(self, width: int, height: int) -> None:
        """Give the window another size; narrow ones are phones."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def run(self, script: str) -> Any:
        """Evaluate JavaScript and return its value."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + TIMEOUT
        while not self.run(condition):
            if time.monotonic() > deadline:
                raise BrowserError(f"{condition} did not become true within {TIMEOUT:.0f} s")
            time.sleep(0.02)

    def place(self, selector: str) -> tuple[float, float]:
        """Scroll an element into view and return its middle."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return x, y

    def move(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click with the mouse on the middle of an element, as a person would."""
        x, y = self.place(selector)
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key on what has the focus."""
        codes = {"Enter": (13, "\r"), " ": (32, " "), "ArrowLeft": (37, ""), "ArrowRight": (39, ""), "Tab": (9, "")}
        code, text = codes[key]
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def problems(self) -> list[str]:
        """Return what the console and the page complained about."""
        self.run("0")  # whatever was said before has then arrived
        found = []
        for event in self.events:
            params = event.get("params", {})
            said = event.get("method") == "Runtime.consoleAPICalled" and params["type"] in (
                "error",
                "warning",
                "assert",
            )
            logged = event.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning")
            if said or logged or event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(params))
        return found

    def requests(self) -> list[str]:
        """Return the addresses that were asked for."""
        self.run("0")
        asked = [
            event["params"]["request"] for event in self.events if event.get("method") == "Network.requestWillBeSent"
        ]
        return [request["url"] for request in asked]

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write a picture of the page."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _receive(self, deadline: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._from, 1 << 20) if ready else b""
            if not chunk:
                reason = "closed its pipe" if ready else f"did not answer within {TIMEOUT:.0f} s"
                raise BrowserError(f"{method}: the browser {reason}")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)


@contextlib.contextmanager
def opened(profile: Path) -> Iterator[Page]:
    """Start a browser with a profile of its own; it and its children are gone afterwards, whatever happens."""
    program = executable()
    if program is None:
        raise BrowserError("there is no chromium, chromium-browser or google-chrome on the path: install one")
    commands, answers = os.pipe(), os.pipe()

    # pass_fds keeps the numbers that descriptors have here, and the browser wants 3 and 4. The first pipe is made
    # first, so its end is lower than the other's and moving it to 3 does not overwrite that.
    moves = "n, m = map(int, sys.argv[1:3]); os.dup2(n, 3); os.dup2(m, 4); os.execv(sys.argv[3], sys.argv[3:])"
    shown = [program, *FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        [sys.executable, "-Ic", f"import os, sys; {moves}", str(commands[0]), str(answers[1]), *shown],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(commands[0], answers[1]),
        start_new_session=True,
    )
    os.close(commands[0])
    os.close(answers[1])
    try:
        yield Page(commands[1], answers[0])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(TIMEOUT)
        os.close(commands[1])
        os.close(answers[0])
