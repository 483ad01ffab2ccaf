"""Pure. HTML from nested calls. Whatever is not made here is text, and is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from ddpdoctor.report.terminal_text import Style

_STYLE = Style(color=False, unicode=True)
#: elements without an end tag
_VOID = frozenset({"meta", "link", "input", "br"})


class Markup(str):
    """HTML that was made by this module: not escaped again."""

    __slots__ = ()


#: what an element contains: markup, text to escape, or nothing
Child = str | None
Attribute = str | int | float | bool | None


def text(value: str) -> Markup:
    """Text of a job without terminal escapes, control and direction-changing characters, and escaped."""
    return value if isinstance(value, Markup) else Markup(html.escape(_STYLE.clean(value)))


def prose(sentence: str) -> Markup:
    """Text in which what stands between backticks is code."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:
        return text(sentence)
    return joined(element("code", part) if n % 2 else part for n, part in enumerate(parts))


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """An element. `class_` is `class`, `data_copy` is `data-copy`; an attribute that is None or False is left out."""
    head = "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    inside = "".join(text(child) for child in children if child is not None)
    return Markup(f"<{tag}{head}>" if tag in _VOID else f"<{tag}{head}>{inside}</{tag}>")


def joined(children: Iterable[Child]) -> Markup:
    """Children side by side."""
    return Markup("".join(text(child) for child in children if child is not None))


def raw(tag: str, content: str, **attributes: Attribute) -> Markup:
    """A `style` or `script` element: our own text, which HTML does not escape there."""
    return element(tag, Markup(content), **attributes)


def section(identity: str, title: str, *children: Child, lead: str = "") -> Markup:
    """A section of the page with a heading that can be linked to."""
    heading = element("h2", title, id=f"{identity}-title")
    intro = element("p", lead, class_="lead") if lead else None
    return element("section", heading, intro, *children, id=identity, aria_labelledby=f"{identity}-title")


def scrolling(label: str, *children: Child) -> Markup:
    """A wide thing that scrolls by itself on a narrow screen, with the keyboard, too."""
    return element("div", *children, class_="wide", tabindex=0, role="region", aria_label=label)


def table(caption: str, head: Iterable[str], rows: Iterable[Iterable[Child]], *, marked: Iterable[int] = ()) -> Markup:
    """A table that scrolls on a narrow screen; the first cell of each row is its header. `marked`: numbers of rows."""
    stressed = frozenset(marked)
    header = element("tr", *(element("th", name, scope="col") for name in head))
    body = [
        element("tr", *(_cell(i, cell) for i, cell in enumerate(row)), class_="odd" if number in stressed else None)
        for number, row in enumerate(rows)
    ]
    named = element("caption", caption, class_="unseen")
    return scrolling(caption, element("table", named, element("thead", header), element("tbody", *body)))


def copied(identity: str, what: str) -> Markup:
    """A button that copies an element's text; the script shows it."""
    return element(
        "button", "Copy", type="button", class_="copy", data_copy=identity, aria_label=f"Copy {what}", hidden=True
    )


def _cell(place: int, content: Child) -> Markup:
    return element("td", content) if place else element("th", content, scope="row")


def _attribute(name: str, value: Attribute) -> str:
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return "" if value is False or value is None else f' {name}="{text(str(value))}"'
