"""The imports of a file, from its text alone: enough to find the other files to fetch, much faster than a parse."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.indexing import member, relative

_FROM = late_pattern(r"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]+)", re.MULTILINE)
_IMPORT = late_pattern(r"^[ \t]*import[ \t]+([^\n]+)", re.MULTILINE)
_NAME = late_pattern(r"[A-Za-z_][\w.]*")
_COMMENT = late_pattern(r"#[^\n]*")


def imported(text: str, module: str, *, package: bool = False) -> Iterator[str]:
    """Absolute dotted targets of all imports. `module`: the file's own dotted name; `package`: it is an __init__.

    A line inside a string that looks like an import counts too: its target does not exist, or is not needed.
    """
    for match in _FROM.finditer(text):
        base = _absolute(match[1], module, package=package)
        yield from filter(None, (base,))
        for name in _named(match[2]):
            yield member(base, name)
    for match in _IMPORT.finditer(text):
        yield from _named(match[1])


def _named(listed: str) -> Iterator[str]:
    """`a, b as c` -> a, b"""
    for item in _COMMENT.sub("", listed).strip("() \t").split(","):
        name = _NAME.match(item.strip())
        if name:
            yield name[0]


def _absolute(target: str, module: str, *, package: bool) -> str:
    dots = len(target) - len(target.lstrip("."))
    if not dots:
        return target
    return relative(dots, target[dots:], module, package=package)
