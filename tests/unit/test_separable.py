"""docs/separable.md says for every diagnosis whether the evidence can exclude its neighbours; the rules must agree."""

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
    """Code -> second column, of the table under a heading."""
    part = PAGE.read_text(encoding="utf-8").partition(f"## {heading}")[2].partition("\n## ")[0]
    return dict(ROW.findall(part))


DISTINGUISHABLE = table("Distinguishable")
NOT_DISTINGUISHABLE = table("Not distinguishable")


def source(rule: RegisteredRule) -> str:
    return inspect.getsource(sys.modules[rule.diagnose.__module__])


def test_every_diagnosis_is_in_one_table() -> None:
    assert not DISTINGUISHABLE.keys() & NOT_DISTINGUISHABLE.keys()
    assert DISTINGUISHABLE.keys() | NOT_DISTINGUISHABLE.keys() == {rule.rule.code for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule.code)
def test_a_rule_says_no_more_and_can_say_no_less(rule: RegisteredRule) -> None:
    code = rule.rule.code
    certain = "Confidence.CERTAIN" in source(rule)
    assert certain == (code in DISTINGUISHABLE or NOT_DISTINGUISHABLE[code] == "certain")
    if code in DISTINGUISHABLE:
        assert set(rule.rule.excludes) == set(DISTINGUISHABLE[code].split())
