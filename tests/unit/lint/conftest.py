"""Whatever a test of lint lints, the rules that the words of its files spare are asked as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ddpdoctor.lint import registry
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.registry import Registered
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.record import replace
from ddpdoctor.program.modules import Module

Check = Callable[[ModuleFacts], Iterator[Finding | None]]


@pytest.fixture(autouse=True)
def no_word_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule with a finding about a file whose words do not call for it lacks a word in `registry.WORDS`.

    The rules that are called for are asked first, as they are without this.
    """
    called_for = Linter._rules

    def rules(linter: Linter, module: Module) -> Iterator[Registered]:
        texts = [one.text.encode(errors="replace") for one in linter._project.followed()]
        yield from called_for(linter, module)
        spared = registry.RULES.keys() - frozenset[str]().union(*map(registry.concerned, texts))
        for entry in map(registry.entry, sorted(spared & linter._settings.codes)):
            yield replace(entry, check=_that_finds_nothing(entry))

    monkeypatch.setattr(Linter, "_rules", rules)


def _that_finds_nothing(entry: Registered) -> Check:
    def check(facts: ModuleFacts) -> Iterator[Finding | None]:
        found = [finding for finding in entry.check(facts) if finding is not None]
        assert not found, f"{entry.rule.code} lacks a word of this in registry.WORDS: {found}"
        yield from found

    return check
