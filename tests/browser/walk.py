"""A respondent at a page: what she presses, sees and sends, and what her browser keeps."""

import http.server
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

AXE = Path(__file__).with_name("axe") / "axe.min.js"
TAB, ENTER, SPACE, DOWN = "\ue004", "\ue007", " ", "\ue015"
REVIEW, SENT = "Check your answers", "Your reports have arrived"
SECRET = "quokka-7731.example"  # what is typed
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RUN = """
const done = arguments[1];
axe.run(document, {runOnly: arguments[0]}).then((found) => done(
  found.violations.map((one) => [one.id, one.nodes.map((node) => node.failureSummary)])));
"""
_FILL = """
const main = () => document.querySelector('button.main');
if (!document.querySelector('form')) main().click();
while (document.querySelector('form')) {
  const chosen = document.querySelectorAll('input[name=answer]');
  if (chosen.length) chosen[Math.min(arguments[0], chosen.length - 1)].click();
  else document.querySelector('input[type=text]').value = arguments[1];
  main().click();
}
"""


class Collector:
    """A place for a page and its reports."""

    def __init__(self) -> None:
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

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
                    (outer.posted if self.path == "/sheets" else outer.deleted).append(body)
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
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def show(self, page: str) -> str:
        """Serve another page, of which nothing is known yet; its address."""
        self.page, self.status = page, 200
        self.posted: list[str] = []
        self.deleted: list[str] = []
        self.asked: list[str] = []
        return self.url

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Respondent:
    """Works a page by keys alone, unless `fill` or `click` do it for her."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.entered: list[str] = []

    # -- what she does -----------------------------------------------------------------------

    def visit(self, url: str) -> None:
        self.driver.get(url)
        self.log()  # of what was before

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def button(self, text: str) -> None:
        """Press Tab until the button with a text has the focus, then Enter."""
        for _ in range(60):
            self.press(TAB)
            if self.focused() == text:
                return self.press(ENTER)
        raise AssertionError(f"{text} cannot be reached by keys")

    def choose(self, number: int) -> None:
        """Take answer `number` of the first list, counted from 0, and go on."""
        self.press(TAB, SPACE, *[DOWN] * number)
        self.entered.append(self.focused())

    def write(self, text: str) -> None:
        self.press(TAB, text)
        self.entered.append(text)

    def fill(self, number: int = 1) -> None:
        """Give that answer, or the last, to all questions that are left."""
        self.run(_FILL, number, SECRET)

    def click(self, kind: str = "main") -> None:
        self.run(f"document.querySelector('button.{kind}:not([hidden])').click()")

    def sends(self, url: str, ends: str = SENT) -> dict[str, Any]:
        """Fill in a page and agree; the sheet that is said to be sent, where it is said."""
        self.visit(url)
        self.fill()
        self.click()
        self.awaits(ends)
        return json.loads(self.exact()) if ends == SENT else {}

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

    def reads(self, words: str) -> None:
        self.until(lambda: words in self.text(), words)

    def until(self, reached: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + 10.0
        while not reached():
            assert time.monotonic() < end, f"{what!r} is not reached: {self.text()}"
            time.sleep(0.02)

    def look(self, *schemes: str) -> None:
        """The step is accessible, in light (or in these schemes), and fits the window."""
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8"))
        for scheme in schemes or ("light",):
            self.media("prefers-color-scheme", scheme)
            assert self.driver.execute_async_script(_RUN, _RULES) == [], scheme
        self.media("prefers-color-scheme", "light")
        assert not self.run("return document.documentElement.scrollWidth > innerWidth")

    # -- what her browser has ----------------------------------------------------------------

    def exact(self) -> str:
        """The text that is said to be sent."""
        return str(self.run("return document.querySelector('pre').textContent"))

    def kept(self) -> dict[str, Any]:
        """What local storage has."""
        found = json.loads(self.run("return JSON.stringify({...localStorage})"))
        return {key: json.loads(value) for key, value in found.items()}

    def pending(self) -> list[Any]:
        return [kept["pending"] for kept in self.kept().values()]

    def traces(self) -> list[Any]:
        """All else that a browser keeps or says of a page."""
        script = """
        const done = arguments[0];
        indexedDB.databases().then(async (bases) => done([
          {...sessionStorage}, document.cookie, location.href, document.title, window.name,
          history.state, bases, await caches.keys()]));
        """
        return [*self.driver.execute_async_script(script), self.driver.get_log("browser")]

    def log(self) -> list[dict[str, Any]]:
        """Requests since the last call."""
        logged = self.driver.get_log("performance")
        entries = (json.loads(one["message"])["message"] for one in logged)
        sent = "Network.requestWillBeSent"
        return [one["params"]["request"] for one in entries if one["method"] == sent]

    def before(self, script: str) -> None:
        """Run a script before those of the pages to come."""
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})

    def media(self, name: str, value: str) -> None:
        features = [{"name": name, "value": value}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def width(self, pixels: int) -> None:
        how = {"width": pixels, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", how)
