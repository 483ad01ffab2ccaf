"""Every diagnosis that a test in here makes is checked, sentence by sentence, against the evidence of that test."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ddpdoctor.diagnose import engine
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Diagnosis
from tests.statements.unsupported import unsupported


@pytest.fixture(autouse=True)
def every_statement_is_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = engine._diagnose

    def checked(facts: Facts) -> tuple[tuple[Diagnosis, ...], Mapping[str, str]]:
        found, not_considered = plain(facts)
        assert not [str(fault) for fault in unsupported(found, facts.evidence)]
        return found, not_considered

    monkeypatch.setattr(engine, "_diagnose", checked)
