"""docs/ as a site: it builds without a warning, no Markdown is left, and no page loads anything from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ddpdoctor.cli import explain

pytest.importorskip("mkdocs", reason="needs the extra `docs`: make docs")
pytest.importorskip("material", reason="needs the extra `docs`: make docs")

ROOT = Path(__file__).parents[2]
#: MkDocs and GitHub differ in some forms of Markdown, most often in what stands in a list
_LEFT = re.compile(r"```|\]\(|\*\*|`|^\s*[-*] |\|\s*-{3}|^#+ ", re.MULTILINE)
#: attributes with which a page loads something when it is opened
_LOADING = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class _Page(HTMLParser):
    """The text outside of code, the title, and what the page loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self._code = 0
        self._within_title = False
        self.prose = ""
        self.title = ""
        self.loaded: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in ("pre", "code", "script", "style")
        self._within_title = tag == "title"
        self.loaded += [value for name, value in attrs if value and (tag, name) in _LOADING]

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("pre", "code", "script", "style")
        self._within_title = False

    def handle_data(self, data: str) -> None:
        if self._within_title:
            self.title += data
        elif not self._code:
            self.prose += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    # nothing listens there: whatever asks for an address fails
    environ = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
    }
    ended = subprocess.run(build, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, _Page]:
    return {str(path.relative_to(site)): _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_code_has_a_page_with_its_name(pages: dict[str, _Page]) -> None:
    folders = {"DD1": "rules", "DD2": "diagnoses", "DD3": "checks"}
    for code in explain.pages():
        assert pages[f"{folders[code.code[:3]]}/{code.code}.html"].title == f"{code.code} {code.name} - ddpdoctor"


def test_no_markdown_is_left(pages: dict[str, _Page]) -> None:
    # what a report shows are the job's own texts
    prose = {name: page.prose for name, page in pages.items() if name != "tutorial/hang.html"}
    assert {name: found[0] for name, text in prose.items() if (found := _LEFT.search(text))} == {}


def test_no_list_is_torn_apart(site: Path) -> None:
    """MkDocs wants four spaces before what belongs to an item; with fewer the list begins anew behind it."""
    assert [path.name for path in site.rglob("*.html") if re.search(r"<ol start", path.read_text("utf-8"))] == []


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[str, _Page]) -> None:
    assert {(name, address) for name, page in pages.items() for address in page.loaded if "//" in address} == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", styles) == []


def test_the_site_has_what_is_kept_outside_of_docs(site: Path, pages: dict[str, _Page]) -> None:
    assert {"CHANGELOG.html", "benchmarks/lint_first_looks/index.html", "tutorial/hang.html"} <= set(pages)
    assert (site / "tutorial" / "train.py").exists()
    assert not any(path.suffix == ".pyc" or path.name in ("generate.py", "bundle.tar.gz") for path in site.rglob("*"))
