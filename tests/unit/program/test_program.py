"""The job's source as evidence has it: what may be asked of it, and what answers nothing."""

from __future__ import annotations

import ast

from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.program.program import Program

TEXT = "import torch\n\ndef f():\n    pass\n"


def _one(text: str = TEXT, *, changed: bool = False, first: int = 1) -> Program:
    return Program({"/job/a.py": SourceFile("/job/a.py", text, changed=changed, first=first)})


def test_a_file_is_parsed_once() -> None:
    program = _one()
    assert program.module("/job/a.py") is program.module("/job/a.py")
    assert program.tree("/job/a.py") is program.tree("/job/a.py")
    assert program.line_text("/job/a.py", 4) == "pass"


def test_what_may_not_be_what_ran_answers_nothing() -> None:
    changed = _one(changed=True)
    assert changed.tree("/job/a.py") is None
    assert changed.line_text("/job/a.py", 1) == ""
    # a part of a file has lines and no tree
    part = _one(first=10)
    assert part.tree("/job/a.py") is None
    assert part.line_text("/job/a.py", 12) == "def f():"
    assert part.line_text("/job/a.py", 9) == ""
    assert _one("def f(:\n").tree("/job/a.py") is None
    assert _one().tree("/job/b.py") is None
    assert list(_one()) == ["/job/a.py"]


def test_lines_are_counted_as_the_interpreter_does() -> None:
    # a form feed, and a line separator in a string, end no line
    program = _one("x = '\u2028'\n\x0c\ny = 1\n")
    assert program.line_text("/job/a.py", 3) == "y = 1"


def test_text_is_text_whatever_encoding_it_claims() -> None:
    program = _one("# -*- coding: latin-1 -*-\nname = 'é'\n")
    tree = program.tree("/job/a.py")
    assert tree is not None
    assert ast.unparse(tree) == "name = 'é'"


def test_files_import_each_other() -> None:
    files = {"/job/run/train.py": "from ..pkg import b\n", "/job/pkg/b.py": "x = 1\n"}
    program = Program({path: SourceFile(path, text) for path, text in files.items()})
    origin = program.module("/job/run/train.py")
    assert origin is not None
    found = program.project.find(origin.imports["b"], origin)
    assert found is program.module("/job/pkg/b.py")
