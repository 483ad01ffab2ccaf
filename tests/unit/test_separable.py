"""docs/separable.md says of every diagnosis whether the evidence can tell it apart, and the rules agree with it."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

from ddpdoctor.diagnose.registry import RULES
from ddpdoctor.diagnose.rule import RegisteredRule

PAGE = Path(__file__).parents[2] / "docs" / "separable.md"
ROW = re.compile(r"^\| (DD2\d\d) \| ([^|]*) \|", re.MULTILINE)


def table(heading: str) -> dict[str, str]:
    """code -> second column, of the table under a heading."""
    part = PAGE.read_text(encoding="utf-8").partition(f"## {heading}")[2].partition("\n## ")[0]
    return dict(ROW.findall(part))


TOLD = table("Told apart")
NOT_TOLD = table("Not told apart")


def source(rule: RegisteredRule) -> str:
    return inspect.getsource(sys.modules[rule.diagnose.__module__])


def test_every_diagnosis_is_in_one_table() -> None:
    assert not TOLD.keys() & NOT_TOLD.keys()
    assert TOLD.keys() | NOT_TOLD.keys() == {rule.rule.code for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule.code)
def test_a_rule_says_no_more_and_can_say_no_less(rule: RegisteredRule) -> None:
    code = rule.rule.code
    certain = "Confidence.CERTAIN" in source(rule)
    assert certain == (code in TOLD or NOT_TOLD[code] == "certain")
    if code in TOLD:
        assert set(rule.rule.excludes) == set(TOLD[code].split())
