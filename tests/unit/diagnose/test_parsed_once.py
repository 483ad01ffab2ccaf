"""One inspection parses each file of the job once, whatever its rules need."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

import pytest

from ddpdoctor.diagnose.engine import examine
from tests.unit.diagnose import stories


def test_each_file_is_parsed_once_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = stories.among(4, 2, stories.left_early)
    texts = [file.text for file in evidence.code.values()]
    parsed: Counter[str] = Counter()
    real = ast.parse

    def counting(source: Any, *args: Any, **kwargs: Any) -> Any:
        parsed[source] += 1
        return real(source, *args, **kwargs)

    monkeypatch.setattr(ast, "parse", counting)
    assert examine(evidence).diagnoses
    assert {parsed[text] for text in texts} == {1}
    # WHEN looked again THEN nothing of the last look is kept
    examine(evidence)
    assert {parsed[text] for text in texts} == {2}
