"""What all tests with real jobs share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.daily import DAILY


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder starts jobs, and few of them are run each time."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        path = str(item.path)  # for each of all tests: a Path would take seconds
        if path.startswith(here):
            item.add_marker(pytest.mark.e2e)
            names = DAILY.get(path.removeprefix(here).replace(os.sep, "/"), ())
            if item.name not in names and item.name.partition("[")[0] not in names:
                item.add_marker(pytest.mark.slow)
