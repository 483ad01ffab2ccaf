"""What unit tests of several layers share."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

_RECORDED = Path(__file__).parent / "diagnose" / "data" / "nccl_runs.tar.xz"


@pytest.fixture(scope="session")
def nccl_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the recorded runs on NCCL, a bundle of each under the name of its case."""
    folder = tmp_path_factory.mktemp("nccl")
    with tarfile.open(_RECORDED) as archive:
        archive.extractall(folder, filter="data")
    return folder
