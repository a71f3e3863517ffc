"""A respondent at a page: what she presses, sees and sends, and what her browser keeps."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

AXE = Path(__file__).with_name("axe") / "axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RUN = """
const done = arguments[1];
axe.run(document, {runOnly: arguments[0]}).then((found) => done(
  found.violations.map((one) => [one.id, one.nodes.map((node) => node.failureSummary)])));
"""


class Collector:
    """A page and a place for its reports, on a port of its own: its storage is new."""

    def __init__(self, page: str) -> None:
        self.page, self.status = page, 200
        self.posted: list[str] = []
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                outer.asked.append(self.path)
                self.answer(200, "text/html; charset=utf-8", outer.page)

            def do_POST(self) -> None:
                outer.asked.append(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8")
                assert self.headers["Content-Type"] == "application/json"
                if outer.status == 200:
                    outer.posted.append(body)
                answer = json.dumps({"accepted": outer.status == 200})
                self.answer(outer.status, "application/json", answer)

            def answer(self, status: int, kind: str, text: str) -> None:
                data = text.encode("utf-8")
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    @property
    def sheets(self) -> list[Any]:
        return [json.loads(text)["sheet"] for text in self.posted]


@contextmanager
def collecting(page: str) -> Iterator[Collector]:
    made = Collector(page)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


class Respondent:
    """Works a page by keys alone."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.entered: list[str] = []

    # -- what she does -----------------------------------------------------------------------

    def visit(self, url: str) -> None:
        self.driver.get(url)
        self.log()  # of what was before

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def reach(self, text: str) -> None:
        """Press Tab until the button with a text, or the choice of that answer, has the focus."""
        from selenium.webdriver.common.keys import Keys

        for _ in range(60):
            self.press(Keys.TAB)
            if self.focused() == text:
                return
        raise AssertionError(f"{text} cannot be reached by keys")

    def button(self, text: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.reach(text)
        self.press(Keys.ENTER)

    def choose(self, number: int) -> None:
        """Take answer `number` of the first list, counted from 0, and go on."""
        from selenium.webdriver.common.keys import Keys

        self.press(Keys.TAB, Keys.SPACE, *[Keys.ARROW_DOWN] * number)
        self.entered.append(self.focused())

    def write(self, text: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.press(Keys.TAB, text)
        self.entered.append(text)

    def go_on(self) -> None:
        from selenium.webdriver.common.keys import Keys

        self.press(Keys.ENTER)

    # -- what she sees -----------------------------------------------------------------------

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def heading(self) -> str:
        return str(self.run("return document.querySelector('h1')?.textContent ?? ''"))

    def focused(self) -> str:
        script = "const e = document.activeElement; return (e.closest('label') ?? e).textContent"
        return str(self.run(script)).strip()

    def text(self) -> str:
        return str(self.run("return document.body.innerText"))

    def awaits(self, heading: str) -> None:
        self.until(lambda: self.heading() == heading, heading)

    def until(self, reached: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + 10.0
        while not reached():
            assert time.monotonic() < end, f"{what!r} is not reached: {self.text()}"
            time.sleep(0.02)

    # -- what her browser has ----------------------------------------------------------------

    def exact(self) -> str:
        """The text that is said to be sent."""
        return str(self.run("return document.querySelector('pre').textContent"))

    def kept(self) -> dict[str, Any]:
        """What local storage has."""
        found = json.loads(self.run("return JSON.stringify({...localStorage})"))
        return {key: json.loads(value) for key, value in found.items()}

    def traces(self) -> str:
        """All else that a browser keeps or says of a page."""
        script = """
        const done = arguments[0];
        indexedDB.databases().then(async (bases) => done(JSON.stringify([
          {...sessionStorage}, document.cookie, location.href, document.title, window.name,
          history.state, bases, await caches.keys()])));
        """
        return str(self.driver.execute_async_script(script)) + json.dumps(
            self.driver.get_log("browser")
        )

    def log(self) -> list[dict[str, Any]]:
        """Requests since the last call."""
        entries = (
            json.loads(one["message"])["message"] for one in self.driver.get_log("performance")
        )
        return [
            one["params"]["request"]
            for one in entries
            if one["method"] == "Network.requestWillBeSent"
        ]

    # -- what others see ---------------------------------------------------------------------

    def violations(self) -> list[Any]:
        """What axe-core finds on this step, in light and in dark."""
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8"))
        found = []
        for scheme in ("light", "dark"):
            self.media("prefers-color-scheme", scheme)
            found += [[scheme, one] for one in self.driver.execute_async_script(_RUN, _RULES)]
        self.media("prefers-color-scheme", "light")
        return found

    def media(self, name: str, value: str) -> None:
        features = [{"name": name, "value": value}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def width(self, pixels: int) -> None:
        how = {"width": pixels, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", how)

    def overflows(self) -> bool:
        return bool(self.run("return document.documentElement.scrollWidth > innerWidth"))
