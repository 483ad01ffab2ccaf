"""The known forms of sentences: forms.txt, one a line."""

from __future__ import annotations

from pathlib import Path

from tests.statements.grammar import Form, form

_LINES = Path(__file__).with_name("forms.txt").read_text(encoding="utf-8").splitlines()
FORMS: tuple[Form, ...] = tuple(form(line) for line in _LINES if line and not line.startswith("#"))
