"""The page in a real Chromium: nothing is asked for, nothing complains, nothing overflows, everything can be reached.

Needs the extra `browser` and a Chromium on the PATH (`chromium`, `google-chrome`). With DDPDOCTOR_SCREENSHOTS=FOLDER a
picture of every page is left there, to be looked at.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus
from ddpdoctor.report.html import page as html
from tests.golden.reports import REPORTS
from tests.unit.report import exhibits

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install '.[browser]'")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra `browser`")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium on the PATH")]

WIDTHS = (360, 1280, 1920)


def _large() -> Exhibit:
    """A job of 4,096 ranks of which every 64th stands elsewhere."""
    shown = exhibits.alone_in_a_barrier(4)
    places = [
        RankStatus(
            Rank(n), "waiting", f"all_reduce seq {n // 64}", Location(RankSet.of([n]), "/a.py", 1 + n // 64, "f"), 0
        )
        for n in range(4096)
    ]
    return replace(shown, report=replace(shown.report, ranks=tuple(places)))


PAGES = {
    **{name: Exhibit(report) for name, report in REPORTS.items()},
    "alone-in-a-barrier": exhibits.alone_in_a_barrier(),
    "ring-of-five": exhibits.in_a_ring(5),
    "healthy-with-events": exhibits.healthy(),
    "hostile": exhibits.hostile(),
    "4096-ranks": _large(),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        # the sandbox needs rights that containers lack; the page is ours and loads nothing
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "report.html"
    path.write_text(html.render(PAGES[request.param]), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("address", PAGES, indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_at_every_width(browser: Any, address: str, scheme: str, request: pytest.FixtureRequest) -> None:
    for width in WIDTHS:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda sent, asked=asked: asked.append(sent.url))
        begun = time.monotonic()
        page.goto(address)
        assert time.monotonic() - begun < 5, "about 0.1 s on a machine that does nothing else"
        page.wait_for_timeout(50)
        assert said == []
        assert asked == [address]
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        violations = axe.Axe().run(page).response["violations"]
        assert [(found["id"], found["nodes"][0]["html"]) for found in violations] == []
        if folder := os.environ.get("DDPDOCTOR_SCREENSHOTS"):
            name = request.node.callspec.params["address"]
            page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)
        context.close()


@pytest.mark.parametrize("address", ["alone-in-a-barrier"], indirect=True)
def test_it_says_everything_without_javascript(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    for words in (
        "only rank 0 calls barrier",
        "The last seconds",
        "the circle of ranks 0-3",
        "Ranks 1-3",
        "dist.barrier()",
    ):
        assert page.get_by_text(words).first.is_visible()
    assert page.locator("button").count() > 0
    assert not any(button.is_visible() for button in page.locator("button").all())
    assert not page.locator("#stack-search").is_visible()
    context.close()


@pytest.mark.parametrize("address", ["alone-in-a-barrier"], indirect=True)
def test_the_stacks_are_searched_and_texts_are_copied(browser: Any, address: str) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(address)
    page.fill("#stack-search", "SAVE")
    assert page.locator(".find output").inner_text() == "1 frame"
    assert [line.inner_text() for line in page.locator("#stack-tree li:visible").all()] == ["save /job/train.py:6"]
    page.fill("#stack-search", "")
    assert page.locator("#stack-tree li:visible").count() > 1
    page.locator("button[data-copy=explain]").click()
    assert page.evaluate("navigator.clipboard.readText()") == "ddpdoctor explain DD203"
    context.close()


@pytest.mark.parametrize("address", ["alone-in-a-barrier"], indirect=True)
def test_the_keyboard_reaches_everything(browser: Any, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the verdict"
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
    assert {"A.", "BUTTON.copy", "SUMMARY.", "INPUT.", "DIV.wide", "PRE.frame"} <= reached
    context.close()
