"""How a program of the repository starts others, as a script: the commands that it puts together to run them. Pure."""

from __future__ import annotations

from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.lint.deferred.python_commands import PythonCommands
from ddpdoctor.lint.deferred.script import Script
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program import source

#: what runs a command, and what a command that starts a program has
_RUNS = late_pattern(rb"\bos\.(?:system|popen|exec\w+|spawn\w+)\b|\bsubprocess\b|\bPopen\b")
_STARTS = late_pattern(rb"python|executable|torchrun|accelerate|deepspeed|srun|mpirun|mpiexec|horovodrun|colossalai")


def script_of(path: str, raw: bytes) -> Script | None:
    """What a program starts; None if it starts nothing or cannot be read."""
    if not (_RUNS.search(raw) and _STARTS.search(raw)):
        return None
    tree = source.tree_of(raw)
    found = PythonCommands(tree).found() if tree is not None else ()
    lines = [(Place(path, number), part) for number, command in found for part in (*command.split("\n"), "")]
    return Script.of(lines) if lines else None
