"""The known forms of sentences: forms.txt, one a line."""

from __future__ import annotations

import functools
from pathlib import Path

from tests.statements.grammar import Form, form

_FILE = Path(__file__).with_name("forms.txt")


@functools.cache
def known() -> tuple[Form, ...]:
    """All of them, once they are asked for: to compile them takes a second, in each process of a run of the tests."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return tuple(form(line) for line in lines if line and not line.startswith("#"))
