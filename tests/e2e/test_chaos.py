"""A real job struck in its own namespaces: each kind of fault once, beside a hang and without it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from benchmarks import chaos
from tests.e2e.chaos.faults import FAULTS, Fault
from tests.e2e.nodes import obstacle

pytestmark = [
    pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "namespaces"),
]


@pytest.mark.parametrize("state", [chaos.HEALTHY, chaos.HUNG])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_harmed(fault: Fault, state: str, tmp_path: Path) -> None:
    done = chaos.run(fault, state, 0, tmp_path / "run", threading.Event())
    assert not done.broken, done.in_words()
