"""Edits that fixes are made of, by what they do to the source."""

from __future__ import annotations

import ast

from ddpdoctor.model.finding import Edit
from ddpdoctor.program.modules import Module
from ddpdoctor.program.sites import site_of


def behind(module: Module, node: ast.AST, text: str) -> Edit:
    """Writes something directly behind a node."""
    end = site_of(module, node)
    return Edit(end.end_line, end.end_column, end.end_line, end.end_column, text)


def with_argument(module: Module, call: ast.Call, text: str) -> Edit:
    """Gives a call that has arguments one more."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    last = max(given, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
    return behind(module, last, f", {text}")
