"""Every guess from words has a case that notices when it is switched off, and somebody who asks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ddpdoctor.lint
from ddpdoctor.lint import registry
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.knowledge.heuristics import Heuristic
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.record import replace
from tests.unit.lint import test_lint_cases

ROWS = {name: row for name, row in vars(heuristics).items() if isinstance(row, Heuristic)}
CASES = {f"{case.code}: {case.title}": case for case in test_lint_cases.all_cases()}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_is_switched_off_changes_its_case(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[ROWS[name].case]
    settings = Settings(frozenset(registry.names()))
    monkeypatch.chdir(tmp_path)
    before = test_lint_cases.lint(case, settings)
    monkeypatch.setattr(heuristics, name, replace(ROWS[name], pattern=None, words=()))
    assert test_lint_cases.lint(case, settings) != before


def test_every_row_is_asked_by_somebody() -> None:
    folder = Path(ddpdoctor.lint.__file__).parent
    sources = (path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name != "heuristics.py")
    asked = {name for text in sources for name in re.findall(r"\bheuristics\.([A-Z][A-Z_]*)\b", text)}
    assert asked == set(ROWS)


def test_no_other_file_guesses_from_words() -> None:
    """Patterns over names and source belong in the table; those over the text that lint itself defines do not."""
    layers = ("facts", "interpreter", "ranks", "rules")
    folder = Path(ddpdoctor.lint.__file__).parent
    policies = {
        path.name
        for layer in layers
        for path in (folder / layer).glob("*.py")
        if any(call in path.read_text(encoding="utf-8") for call in ("re.compile(", "late_pattern("))
    }
    assert policies == {"deprecated_launcher.py", "hard_coded_rendezvous.py"}
