"""The position of a node in its file."""

from __future__ import annotations

import ast

from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import Module


def site_of(module: Module, node: ast.AST) -> SourceSite:
    """The position of a node. `ast` counts columns in UTF-8 bytes; sites count characters."""
    known: SourceSite | None = node.__dict__.get("_site")
    if known is None:
        known = node.__dict__["_site"] = _site(module, node)
    return known


def _site(module: Module, node: ast.AST) -> SourceSite:
    line = getattr(node, "lineno", 1)
    end = getattr(node, "end_lineno", line) or line
    return SourceSite(
        module.path, line, characters(module, line, getattr(node, "col_offset", 0)) + 1,
        end, characters(module, end, getattr(node, "end_col_offset", 0) or 0) + 1,
    )  # fmt: skip


def characters(module: Module, line: int, offset: int) -> int:
    """A byte offset in a line as a number of characters."""
    if line > len(module.lines):
        return offset
    text = module.lines[line - 1]
    return offset if text.isascii() else len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore"))


class SourceSite(NamedTuple):
    """A place in source; line and column from 1, columns in characters."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
