"""Files that a program reads, copies or moves after it has written them, in the same run."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import paths, touched_files
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import filesystem
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.text import text_of

#: functions that take what is in a file to another path
_TAKES = frozenset({
    "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "os.rename", "os.replace", "os.link",
})  # fmt: skip


def read_again(facts: ModuleFacts, call: CallEvent, path: Value, node: ast.expr | None) -> bool:
    """Whether something that the file runs after a call that writes, or in the next turn of a loop around it, uses what
    is at the path."""
    parts = touched_files.parts_of(path)
    for other in facts.concerning(_may_read):
        source, expression = _source(other)
        if source is None or not _comes_later(call, other):
            continue
        if parts is not None and touched_files.parts_of(source) == parts:
            return True
        if node is not None and expression is not None and _one_text(call, node, other, expression):
            return True
    return False


def _may_read(name: str) -> bool:
    row = filesystem.function(name) if not name.startswith(".") else None
    return name in _TAKES or name in (filesystem.OPEN, ".rename", ".replace") or bool(row and row.use is Use.READS)


def _source(call: CallEvent) -> tuple[Value | None, ast.expr | None]:
    """The path of the file that a call reads or takes away, and its expression."""
    if call.path == filesystem.OPEN:
        mode = call.argument(1, "mode")
        reads = mode is None or str(mode.constant).startswith("r")
        return paths.path_of(call) if reads else (None, None)
    if call.path in _TAKES:
        return call.argument(0, "src"), paths.argument_of(call.node, 0, "src")
    if call.method in ("rename", "replace") and isinstance(call.node.func, ast.Attribute):
        return call.receiver, call.node.func.value
    return paths.path_of(call)


def _comes_later(call: CallEvent, other: CallEvent) -> bool:
    """Whether a run that has come to one call can come to the other after it."""
    if call.context.calls[:1] != other.context.calls[:1]:
        return False
    loops = {loop.site for loop in call.context.loops}
    return other.index > call.index or any(loop.site in loops for loop in other.context.loops)


def _one_text(call: CallEvent, node: ast.expr, other: CallEvent, expression: ast.expr) -> bool:
    """Whether two paths are written alike, of the same variables."""
    if text_of(node) != text_of(expression) or call.context.module is not other.context.module:
        return False
    # a variable of another function may hold another path
    shared = call.context.function is other.context.function and call.context.chain == other.context.chain
    return shared or not any(isinstance(part, ast.Name) and part.id != "self" for part in walk(node))
