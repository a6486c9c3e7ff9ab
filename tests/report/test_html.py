"""The page: all of a file's text is text in it, it needs nothing else, and its graphs can be stepped through."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report.samples import ALL, HOSTILE, IN_CELLS, RUN, SEVERAL, TOLD, WITNESSED, written

from retainlint import check_source
from retainlint.commands.lives import life_of
from retainlint.report.graph_life import Life, LifeNode, LifeStep, State
from retainlint.report.run import Run

LIFE = Life(
    (LifeNode("t @ a", "m.py:9", "saves its inputs"), LifeNode("<b>", "m.py:12", "saves nothing", (0,))),
    (
        LifeStep("build", "`t @ a` builds a node", (State.BUILT, State.UNBUILT)),
        LifeStep("fail", "pass 2 comes to `t @ a`", (State.FAILED, State.PASSED), ((1, 0),)),
    ),
)
LIVING = RUN._replace(replay=lambda witness: LIFE)


class Page(HTMLParser):
    """The tags of a page with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "path", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "rect"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.text += data

    def of(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        kept = [attrs for name, attrs in self.tags if name == tag]
        return [each for each in kept if all(each.get(key) == value for key, value in wanted.items())]


def page(*found: object, run: Run = LIVING) -> Page:
    return Page(written("html", *found, run=run))  # type: ignore[arg-type]


TAGS = set(
    """html head meta title style body header h1 h2 p div section ul li button span form label input output main details summary
    b code figure figcaption mark ol a footer script svg path g rect text""".split()
)


@pytest.mark.parametrize("found", [(), ALL, (HOSTILE, WITNESSED)])
def test_nothing_but_our_own_tags_and_our_own_script(found: tuple[object, ...]) -> None:
    told = page(*found)
    assert told.open == [] and {name for name, _ in told.tags} <= TAGS
    for name, attrs in told.tags:
        assert not any(key.startswith("on") or key in ("src", "srcdoc") for key in attrs)
        assert re.match(r"https?://", attrs.get("href") or "https://"), attrs
        assert "style" not in attrs or re.fullmatch(r"--(part|in):[\d.]+", attrs["style"] or ""), (name, attrs)
    (script,) = told.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [each["content"] for each in told.of("meta", **{"http-equiv": "Content-Security-Policy"})]
    assert policy is not None and policy.startswith("default-src 'none';") and f"script-src 'sha256-{digest}'" in policy


def test_a_page_needs_nothing_from_elsewhere() -> None:
    text = written("html", *ALL)
    assert not re.search(r"@import|url\(|<link|<img|<iframe|fetch\(|XMLHttp", text)


def test_findings_stand_with_their_sources_and_stories() -> None:
    told = page(TOLD, SEVERAL, IN_CELLS)
    assert "Found 2 errors and 1 warning. 7 files checked." in told.text
    assert [each["data-grade"] for each in told.of("details")] == ["error", "warning", "error"]
    assert {each["data-folder"] for each in told.of("button") if "data-folder" in each} == {"pkg", "."}
    assert len(told.of("figure")) == 5, "one for each file and cell"
    assert "nb.ipynb:cell 3:2:1" in told.text and "built: a[0](b)" in told.text
    assert len(told.of("mark", **{"class": "at error"})) >= 2


def test_many_are_closed_and_few_are_open() -> None:
    assert all("open" in each for each in page(TOLD, TOLD).of("details"))
    assert not any("open" in each for each in page(*[TOLD] * 4).of("details"))


def test_a_graph_is_drawn_as_it_ends_and_told_in_words_beside_it() -> None:
    told = page(WITNESSED)
    assert [each["class"] for each in told.of("g")] == ["n x", "n p"]
    assert [each["class"] for each in told.of("path")] == ["e on"]
    steps = [each for each in told.of("li") if "data-s" in each]
    assert [(each["data-s"], each["data-e"], each["class"]) for each in steps] == [
        ("bu", "", "build"),
        ("xp", "1-0", "fail"),
    ]
    assert "aria-current" in steps[-1] and "pass 2 comes to t @ a" in told.text
    assert not page(WITNESSED, run=RUN).of("svg"), "without a replay there is none"


def test_five_hundred_findings_are_written_at_once() -> None:
    begun = time.perf_counter()
    text = written("html", *[WITNESSED, TOLD] * 250, run=LIVING)
    assert len(text) < 4_000_000
    assert time.perf_counter() - begun < 5


@pytest.mark.skipif(shutil.which("chromedriver") is None, reason="needs chromedriver and Chromium")
def test_in_a_browser_it_is_stepped_through_and_searched(tmp_path: Path) -> None:
    webdriver: Any = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    css, home, right = "css selector", "\ue011", "\ue014"  # as WebDriver names them
    twice = "import torch\nw = torch.ones(3, requires_grad=True)\nl = (w * w).sum()\nl.backward()\nl.backward()\n"
    file = tmp_path / "page.html"
    run = RUN._replace(replay=life_of)
    file.write_text(written("html", *check_source(twice, isolated=True), TOLD, HOSTILE, run=run), encoding="utf-8")
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'chrome'}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        browser.get(file.as_uri())

        def said(where: str) -> str:
            return str(browser.find_element(css, where).text)

        life = browser.find_element(css, ".life")
        browser.execute_script("arguments[0].scrollIntoView()", life)
        last = int(said(".steer output").split()[-1])
        life.send_keys(home)
        assert said(".steer output") == f"1 of {last}"
        assert browser.find_elements(css, ".n.u"), "what isn't built yet is faint"
        life.send_keys(right)
        assert said(".steer output") == f"2 of {last}" and not browser.find_elements(css, ".n.u")
        browser.find_element(css, "[data-go=last]").click()
        assert said(".steer output") == f"{last} of {last}" and browser.find_elements(css, ".n.x")
        browser.find_element("name", "q").send_keys("no such words")
        assert said(".find output") == "0 of 3 shown"
        assert browser.get_log("browser") == []
    finally:
        browser.quit()
