"""Opens the page of a report in headless Chromium: browse_page.py INDEX.html [OTHER/report.json]

At 1400 and 420 pixels: no error, no request beside the file, no tab that scrolls sideways, one text for each fact. Then
it is used: sorted, searched, followed into the plan and back, compared. Prints what it saw.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LOOK = """(async () => {
  const tabs = [];
  for (const link of document.querySelectorAll('nav a')) {
    link.click();
    await new Promise(done => setTimeout(done, 50));
    const root = document.documentElement, shown = [...document.querySelectorAll('.tab')].filter(tab => !tab.hidden);
    tabs.push({ name: link.textContent, shown: shown.map(tab => '#' + tab.id), href: link.getAttribute('href'),
      over: root.scrollWidth - root.clientWidth, text: shown.map(tab => tab.innerText).join('').length });
  }
  const facts = [...document.querySelectorAll('.fact')].map(fact => [fact.value, fact.textContent]);
  return { tabs, facts, colour: getComputedStyle(document.body).color };
})()"""

USE = """(async () => {
  const pause = () => new Promise(done => setTimeout(done, 100));
  const $ = selector => document.querySelector(selector), list = () => [...$('#launch-list').tBodies[0].rows];
  const all = list().length, sortBy = title =>
    [...$('#launch-list').querySelectorAll('th button')].find(button => button.textContent === title).click();
  const times = () => list().map(row => Number(row.cells[5].textContent));
  sortBy('estimated ms');
  const up = times();
  sortBy('estimated ms');
  const down = times();
  $('#search').value = 'backward attention_bwd';
  $('#search').dispatchEvent(new Event('input'));
  const found = list().map(row => row.innerText);
  location.hash = '#launches';
  await pause();
  const row = list()[0];
  row.querySelector('summary').click();
  const decision = row.querySelector('details').innerText, lines = row.querySelectorAll('.lines b').length;
  const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  row.querySelector('a').click();
  await pause();
  const line = $(location.hash), there = line.innerText, isIr = !$('#ir').hidden;
  line.querySelector('a').click();
  await pause();
  const isBack = !$('#launches').hidden && $(location.hash) === row;
  const modules = () => [...$('#module-list').tBodies[0].rows].filter(row => !row.hidden).length;
  const before = modules();
  $('#module-list button[aria-expanded="false"]').click();
  const costliest = [...$('#costliest').tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent));
  return { costliest, all, up, down, found, decision, lines, over, there, isIr, isBack, before, after: modules() };
})()"""


class Browser:
    """Chromium, spoken to in its DevTools protocol through two pipes."""

    def __init__(self, folder: str) -> None:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        words = f"chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir={folder}"
        self.process = subprocess.Popen(
            ["sh", "-c", f"exec {words} --remote-debugging-pipe about:blank 3<&{to_read} 4>&{from_write}"],
            pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read), os.close(from_write)
        self.out, self.inward, self.count = to_write, os.fdopen(from_read, "rb"), 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while (answer := self.read()).get("id") != self.count:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def read(self) -> dict[str, Any]:
        text = bytearray()
        while (sign := self.inward.read(1)) != b"\0":
            assert sign, "Chromium ended"
            text += sign
        return json.loads(text)

    def run(self, script: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, page: Path, width: int, scheme: str) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=page.resolve().as_uri())
        self.run("new Promise(done => { const look = () => document.querySelector('nav') ? done() : "
                 "setTimeout(look, 20); look(); })")

    def complaints(self) -> list[Any]:
        """Errors, warnings and whatever a script prints; and requests beside those of the page itself."""
        kinds = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        found = [event for event in self.events if event.get("method") in kinds]
        urls = {event["params"]["request"]["url"].split("#")[0] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"}
        return found + sorted(url for url in urls if not url.endswith("/index.html") and url != "about:blank")

    def close(self) -> None:
        self.session = None
        self.ask("Browser.close")
        self.process.wait()


def look(browser: Browser, page: Path, width: int, scheme: str) -> dict[str, Any]:
    browser.open(page, width, scheme)
    seen = browser.run(LOOK)
    for tab in seen["tabs"]:
        assert tab["shown"] == [tab["href"]], tab
        assert tab["over"] <= 0, f"{tab['name']} is {tab['over']} pixels wider than the page of {width}"
        assert tab["text"] > 50, tab
    texts: dict[str, set[str]] = {}
    for name, text in seen["facts"]:
        texts.setdefault(name, set()).add(text)
    assert all(len(each) == 1 for each in texts.values()), texts
    assert len(seen["facts"]) > len(texts), "no fact is told twice"
    return seen


def main() -> None:
    page = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            light = look(browser, page, 1400, "light")
            dark = look(browser, page, 420, "dark")
            assert light["colour"] != dark["colour"], "dark is as light"
            print("tabs:", *(tab["name"] for tab in light["tabs"]))
            used = browser.run(USE)
            assert used["up"] == sorted(used["up"]) and used["down"] == sorted(used["up"], reverse=True), used
            assert len(used["costliest"]) == 3 and all("" not in row for row in used["costliest"]), used["costliest"]
            assert 0 < len(used["found"]) < used["all"], used
            assert all("attention_bwd" in row for row in used["found"]), used["found"]
            assert "Decision: attention call" in used["decision"], used["decision"]
            assert used["lines"] == 1 or "honec did not find this line" in used["decision"], used["decision"]
            assert used["over"] <= 0, f"a launch's details are {used['over']} pixels wider than the page"
            assert used["isIr"] and "plan.launch" in used["there"] and used["isBack"], used
            assert used["after"] > used["before"], used
            if len(sys.argv) > 2:
                document = browser.ask("DOM.getDocument")["root"]["nodeId"]
                node = browser.ask("DOM.querySelector", nodeId=document, selector="#other")["nodeId"]
                browser.ask("DOM.setFileInputFiles", nodeId=node, files=[str(Path(sys.argv[2]).resolve())])
                rows = browser.run("new Promise(done => setTimeout(() => done("
                                   "document.querySelectorAll('#compare-modules tbody tr').length), 300))")
                assert rows > 5, rows
            assert not browser.complaints(), browser.complaints()
        finally:
            browser.close()
    print("no complaint")


main()
