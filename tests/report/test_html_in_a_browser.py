"""The page in a real browser: graphs are stepped through by buttons and keys, findings are searched, nothing is asked of a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from retainlint import check_source, render

webdriver = pytest.importorskip("selenium.webdriver", reason="a browser is driven by selenium")
ui = pytest.importorskip("selenium.webdriver.support.ui", reason="a browser is driven by selenium")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="there is no Chromium, or no driver for it")

LOOP = """import torch
w = torch.ones(3, requires_grad=True)
features = (w * w).exp()
for _ in range(2):
    loss = features.sum()
    loss.backward()
"""
TWICE = """import torch
def main(w=torch.ones(3, requires_grad=True)):
    loss = (w * w).sum()
    loss.backward()
    loss.backward()
main()
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1200,900",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    page = tmp_path_factory.mktemp("page") / "report.html"
    found = [each for name, text in (("a/loop.py", LOOP), ("b/twice.py", TWICE)) for each in check_source(text, name)]
    page.write_text(render(found, "html"), encoding="utf-8")
    driver.get(page.as_uri())
    yield driver
    driver.quit()


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def shown(browser: Any) -> list[str]:
    return [each.text for each in browser.find_elements("css selector", ".finding .where") if each.is_displayed()]


def test_a_graph_is_stepped_through(browser: Any) -> None:
    life = one(browser, ".life")
    browser.execute_script("arguments[0].scrollIntoView()", life)
    said = life.find_element("css selector", ".steer output")
    ui.WebDriverWait(browser, 20).until(lambda _: said.text)  # it begins where it comes into sight
    many = len(life.find_elements("css selector", ".steps li"))
    assert many > 3

    def at(number: int) -> None:
        assert said.text == f"{number} of {many}"
        (current,) = life.find_elements("css selector", "li[aria-current=step]")
        assert current == life.find_elements("css selector", ".steps li")[number - 1]

    at(many)
    assert "failing" in life.get_attribute("class")
    for way, number in (("first", 1), ("on", 2), ("on", 3), ("back", 2), ("last", many)):
        life.find_element("css selector", f"[data-go={way}]").click()
        at(number)
    keys = webdriver.Keys
    button = life.find_element("css selector", "[data-go=first]")
    for key, number in ((keys.HOME, 1), (keys.ARROW_RIGHT, 2), (keys.ARROW_LEFT, 1), (keys.END, many)):
        button.send_keys(key)
        at(number)
    life.find_element("css selector", "[data-go=first]").click()
    assert "failing" not in life.get_attribute("class")


def test_findings_are_searched_and_chosen(browser: Any) -> None:
    both = ["a/loop.py:6:5", "b/twice.py:5:5"]
    assert shown(browser) == both
    search = one(browser, "form.find [name=q]")
    search.send_keys("twice.py")
    assert shown(browser) == both[1:]
    search.clear()
    search.send_keys(webdriver.Keys.SPACE)
    folder = one(browser, '.tables [data-folder="a"]')
    folder.click()
    assert shown(browser) == both[:1]
    assert folder.get_attribute("aria-pressed") == "true"
    folder.click()
    assert shown(browser) == both


def test_dark_and_small(browser: Any) -> None:
    def background() -> str:
        return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    colours = []
    for scheme in ("light", "dark"):
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
        colours.append(background())
    assert colours[0] != colours[1]
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    assert browser.execute_script("return document.scrollingElement.scrollWidth") <= 390
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_nothing_is_asked_of_a_network_and_nothing_goes_wrong(browser: Any) -> None:
    assert browser.get_log("browser") == []
    asked = [
        each["message"] for each in browser.get_log("performance") if "Network.requestWillBeSent" in each["message"]
    ]
    assert not [each for each in asked if '"url":"http' in each]
