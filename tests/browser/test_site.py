"""The site in a real Chromium, opened from disk: nothing is asked for, nothing complains, and the search works.

Needs the extras `docs` and `browser` and a Chromium on the PATH. With DDPDOCTOR_SCREENSHOTS=FOLDER pictures are left
there, to be looked at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install '.[browser]'")
pytest.importorskip("material", reason="needs the extra `docs`: make docs")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra `browser`")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium on the PATH")]

#: faults of the theme's own parts, which a stylesheet cannot mend
OF_THE_THEME = {"aria-dialog-name", "landmark-unique", "scrollable-region-focusable"}
ROOT = Path(__file__).parents[2]
WIDTHS = (360, 1280, 1920)
#: one of each kind: pictures, code with a title, wide tables, long console output, lists with code, generated pages
PAGES = (
    "index.html", "tutorial/index.html", "comparison.html", "accuracy.html", "commands.html", "lint-internals.html",
    "diagnoses/index.html", "diagnoses/DD203.html", "rules/DD111.html", "checks/DD305.html", "howto/slurm.html",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, timeout=300)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        # the sandbox needs rights that containers lack; the pages are ours and load nothing
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


def _opened(browser: Any, address: str, said: list[str], asked: list[str], **settings: Any) -> Any:
    """The page, which adds to `said` what its console says, and to `asked` what it requests from elsewhere."""
    page = browser.new_context(**settings).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda sent: asked.append(sent.url) if not sent.url.startswith(("file:", "data:")) else None)
    page.goto(address)
    page.wait_for_timeout(200)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_at_every_width(browser: Any, site: Path, name: str, scheme: str) -> None:
    said: list[str] = []
    asked: list[str] = []
    for width in WIDTHS:
        size = {"width": width, "height": 900}
        page = _opened(browser, (site / name).as_uri(), said, asked, viewport=size, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
        if folder := os.environ.get("DDPDOCTOR_SCREENSHOTS"):
            page.screenshot(path=f"{folder}/{name.replace('/', '-')}-{width}-{scheme}.png")
        page.context.close()
    assert (said, asked) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_read_it(browser: Any, site: Path, name: str, scheme: str) -> None:
    page = _opened(browser, (site / name).as_uri(), [], [], color_scheme=scheme)
    # it would fetch the stylesheets, which a page from disk must not
    violations = axe.Axe().run(page, options={"preload": False}).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations if one["id"] not in OF_THE_THEME] == []
    page.context.close()


def test_the_search_works_from_disk(browser: Any, site: Path) -> None:
    said: list[str] = []
    asked: list[str] = []
    page = _opened(browser, (site / "index.html").as_uri(), said, asked, viewport={"width": 1280, "height": 900})
    page.click(".md-search__input")
    page.keyboard.type("rank-conditional-collective", delay=20)
    page.wait_for_selector(".md-search-result__item")
    page.click(".md-search-result__link >> nth=0")
    page.wait_for_url("**/diagnoses/*DD203.html*")
    assert (said, asked) == ([], [])
    page.context.close()
