"""The registry is complete, and every rule has documentation."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from ddpdoctor.diagnose import codes, registry, rules
from ddpdoctor.diagnose.rule import RegisteredRule
from ddpdoctor.lint import registry as lint_registry
from ddpdoctor.model.diagnosis import Retry

FOLDER = Path(next(iter(rules.__path__)))
SECTIONS = ("## What", "## Why it hangs", "## Example", "## Fix", "## When it is wrong", "## References")
by_code = pytest.mark.parametrize("registered", registry.RULES, ids=lambda r: r.rule.code)


def test_every_file_is_registered_once_and_in_order() -> None:
    files = {path.stem.replace("_", "-") for path in FOLDER.glob("*.py")} - {"--init--"}
    assert {registered.rule.name for registered in registry.RULES} == files
    codes = [registered.rule.code for registered in registry.RULES]
    assert codes == sorted(set(codes))
    assert registry.FALLBACK.rule.code == codes[-1] == "DD299"


def test_every_diagnosis_has_one_place_in_the_order_of_showing() -> None:
    assert len(codes.SHOWN_FIRST) == len(registry.RULES)
    assert set(codes.SHOWN_FIRST) == {registered.rule for registered in registry.RULES}
    assert codes.SHOWN_FIRST[-1] is registry.FALLBACK.rule


@by_code
def test_every_rule_has_a_test_file_of_its_own(registered: RegisteredRule) -> None:
    assert (Path(__file__).parent / "rules" / f"test_{registered.rule.name.replace('-', '_')}.py").is_file()


@by_code
def test_documentation_has_all_sections(registered: RegisteredRule) -> None:
    text = registered.documentation
    assert text.startswith(f"# {registered.rule.code} {registered.rule.name}\n")
    places = [text.find(section) for section in SECTIONS]
    assert -1 not in places
    assert places == sorted(places)
    assert inspect.isgeneratorfunction(registered.diagnose)


@by_code
def test_fixture_exists(registered: RegisteredRule) -> None:
    if not registered.rule.reproduced:
        assert "Not reproduced here" in " ".join(registered.documentation.split())
        assert "Confidence.LIKELY" not in inspect.getsource(inspect.getmodule(registered.diagnose) or registry)
        return
    fixture = Path(__file__).parents[3] / "fixtures" / registered.rule.fixture / "fixture.toml"
    assert registered.rule.fixture
    assert f'code = "{registered.rule.code}"' in fixture.read_text()


def test_lint_rules_and_diagnoses_name_each_other() -> None:
    finds = {(r.rule.code, code) for r in lint_registry.registered() for code in r.rule.diagnoses}
    found_by = {(code, r.rule.code) for r in registry.RULES for code in r.rule.lint}
    known = {r.rule.code for r in registry.RULES}
    assert {pair for pair in finds if pair[1] in known} == found_by


@by_code
def test_every_rule_says_what_running_again_would_do(registered: RegisteredRule) -> None:
    assert (registered.rule.retry is Retry.UNKNOWN) == (registered is registry.FALLBACK)


def test_each_word_is_used() -> None:
    assert {registered.rule.retry for registered in registry.RULES} == set(Retry)
