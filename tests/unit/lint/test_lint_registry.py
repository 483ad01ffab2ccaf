"""The registry and the pages of the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

import ddpdoctor.lint.rules
from ddpdoctor.lint import registry
from ddpdoctor.lint.registry import Registered
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Severity

SECTIONS = (
    "## What it does", "## Example", "## Use instead", "## Fix safety", "## When it is wrong", "## References",
)  # fmt: skip


def test_every_file_in_rules_is_registered() -> None:
    folder = Path(ddpdoctor.lint.rules.__file__ or "").parent
    listed = {name.replace("-", "_") for name in registry.RULES.values()}
    assert {p.stem for p in folder.glob("*.py")} - {"__init__"} == listed


def test_the_list_says_of_each_rule_what_its_file_says() -> None:
    rules = [entry.rule for entry in registry.registered()]
    assert {rule.code: rule.name for rule in rules} == registry.RULES
    assert {rule.code for rule in rules if rule.severity is Severity.HINT} == registry.HINTS


def test_codes_and_names_are_unique_and_sorted() -> None:
    codes = [r.rule.code for r in registry.registered()]
    assert codes == sorted(set(codes))
    assert len(registry.names()) == len(set(registry.names().values()))


@pytest.mark.parametrize("entry", registry.registered(), ids=lambda e: e.rule.code)
def test_every_rule_has_a_full_page(entry: Registered) -> None:
    assert entry.page.strip()
    for section in SECTIONS:
        assert section in entry.page, section
    assert "## Why it h" in entry.page


@pytest.mark.parametrize("rule", [*(r.rule for r in registry.registered()), *registry.OWN], ids=lambda rule: rule.code)
def test_every_rule_says_in_a_few_words_what_to_do(rule: LintRule) -> None:
    assert 0 < len(rule.advice) <= 100
    assert not rule.advice.endswith(".")
