"""What `mkdocs build` does besides: pages of other folders, a page for each code, the HTML report of the tutorial."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: pages of the site that are kept elsewhere in the repository
ELSEWHERE = ("CHANGELOG.md", "benchmarks/lint_first_looks/README.md", "benchmarks/lint_history/README.md")
#: a link within the repository, or a picture
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)")
_INDEX = "/README.md"
_COMMENT = re.compile(r"\A<!--.*?-->\s*")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = _with_codes(config.nav)
    return config


def _with_codes(entries: Any) -> Any:
    """The navigation, in which a section that has only an index gets the pages of the index's folder."""
    if isinstance(entries, dict):
        return {title: _with_codes(below) for title, below in entries.items()}
    if not isinstance(entries, list):
        return entries
    match entries:
        case [str(index)] if index.endswith(_INDEX):
            folder = DOCS / index.removesuffix(_INDEX)
            return [index, *(f"{folder.name}/{path.name}" for path in sorted(folder.glob("*[0-9]*.md")))]
    return [_with_codes(entry) for entry in entries]


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    for name in ELSEWHERE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    files.append(File.generated(config, "tutorial/hang.html", content=_tutorial_page()))
    return files


def _tutorial_page() -> str:
    """The tutorial's verdict as `ddpdoctor report -f html` writes it."""
    sys.path.insert(0, str(ROOT))
    try:
        from ddpdoctor.report.html import page
        from docs import picture
    finally:
        sys.path.remove(str(ROOT))
    return page.render(picture.verdict(), directory=picture.DIRECTORY)


def on_page_markdown(markdown: str, *, page: Page, **_others: Any) -> str:
    """Links between docs/ and the rest of the repository become links within the site."""
    name = page.file.src_uri
    markdown = _COMMENT.sub("", markdown)  # MkDocs finds a title in the first line only
    own = name if name in ELSEWHERE else f"docs/{name}"
    return _LINK.sub(lambda found: _in_site(found[1], own, name), markdown)


def _in_site(target: str, own: str, name: str) -> str:
    """A link of the file `own` of the repository, as the page `name` of the site needs it."""
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(own), target))
    if name not in ELSEWHERE and meant.startswith("docs/"):
        return target
    return posixpath.relpath(meant.removeprefix("docs/"), posixpath.dirname(name) or ".")
