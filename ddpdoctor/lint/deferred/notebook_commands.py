"""What a notebook says of how programs are started, as a script: its texts, its shell commands, and the commands that
its Python code puts together. Pure.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.lint.deferred.python_commands import PythonCommands
from ddpdoctor.lint.deferred.script import Script
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program import notebook, source

#: a cell that something else than Python reads; a shell is named
_MAGIC = late_pattern(r"%%(?:(bash|sh|shell|script[ \t]+\S*sh|writefile[ \t]+\S+\.(?:sh|slurm|sbatch))\b|\w)")
#: a command in Python code
_COMMAND = late_pattern(r"[ \t]*(?:\w+[ \t]*=[ \t]*)?!+[ \t]*(?=[^\s=])")
#: a variable of Python in such a command
_PUT_IN = late_pattern(r"\{(\w+)\}|\$(\w+)")


def script_of(path: str, raw: bytes) -> Script:
    """What a notebook says; nothing if it cannot be read."""
    decoded = notebook.decode(raw)
    if isinstance(decoded, source.Unreadable):
        return Script(b"", ())
    tree = source.parse(decoded.text)
    python = PythonCommands(tree if isinstance(tree, ast.Module) else ast.Module([], []))
    said: list[tuple[Place, str]] = []
    for cell in notebook.cells_of(raw):
        said += ((Place(path, number, cell.number), line) for number, line in _lines(cell, python))
        # the last line of a cell does not go on in the next one
        said.append((Place(path, len(cell.lines), cell.number), ""))
    for number, command in python.found():
        cell_number, line = decoded.cells[number - 1]
        said += ((Place(path, line, cell_number), part) for part in (*command.split("\n"), ""))
    return Script.of(said)


def _lines(cell: notebook.Cell, python: PythonCommands) -> Iterator[tuple[int, str]]:
    """The lines of a cell that are no Python, by their numbers."""
    magic = _MAGIC.match(cell.lines[0]) if cell.is_code else None
    if not cell.is_code or magic is not None:
        yield from enumerate(cell.lines, start=1) if magic is None or magic[1] else ()
        return
    goes_on = False
    for number, line in enumerate(cell.lines, start=1):
        command = _COMMAND.match(line) if not goes_on else None
        if goes_on or command is not None:
            yield number, _PUT_IN.sub(lambda used: _value(used, python), line[command.end() if command else 0 :])
            goes_on = line.endswith("\\")


def _value(used: re.Match[str], python: PythonCommands) -> str:
    """What stands in place of a variable: its value, if it has only one."""
    value = python.only_value(used[1] or used[2])
    return used[0] if value is None else value
