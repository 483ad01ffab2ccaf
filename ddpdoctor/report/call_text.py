"""Pure. The call that a line of source makes: what readers search for, where the line is too long to be shown."""

from __future__ import annotations

import ast


def call_of(source: str, label: str) -> str:
    """The call in a line of code: the one that `label` names (`all_reduce seq 8`), else the outermost one.

    "" if the line cannot be parsed by itself, or calls nothing.
    """
    calls = _calls(source)
    if not calls:
        return ""
    wanted = label.partition(" ")[0]
    named = (call for call in calls if wanted and _name(call) == wanted)
    found = next(named, calls[0])
    return ast.get_source_segment(_whole(source), found) or ""


def _whole(source: str) -> str:
    """The line as a statement: the header of a block has one, an `elif` an `if` before it."""
    line = source.strip()
    return f"{line} pass" if line.endswith(":") else line


def _calls(source: str) -> list[ast.Call]:
    """Outermost first."""
    try:
        tree = ast.parse(_whole(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _name(call: ast.Call) -> str:
    function = call.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
