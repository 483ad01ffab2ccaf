"""What all tests with real jobs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.daily import DAILY


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder starts jobs, and few of them are run each time."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            names = DAILY.get(item.path.relative_to(here).as_posix(), ())
            if item.name not in names and item.name.partition("[")[0] not in names:
                item.add_marker(pytest.mark.slow)
