"""A real job struck in its own namespaces: each kind of fault once, beside a hang and without it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from benchmarks import chaos
from tests.e2e.chaos.faults import BY_NAME, FAULTS, Fault
from tests.e2e.nodes import obstacle

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "namespaces")]


def held(fault: Fault, state: str, folder: Path) -> None:
    done = chaos.run(fault, state, 0, folder / "run", threading.Event())
    assert not done.broken, done.in_words()


def test_a_hang_is_told_although_no_stack_can_be_read(tmp_path: Path) -> None:
    held(BY_NAME["kill-py-spy"], chaos.HUNG, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("state", [chaos.HEALTHY, chaos.HUNG])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_harmed(fault: Fault, state: str, tmp_path: Path) -> None:
    held(fault, state, tmp_path)
