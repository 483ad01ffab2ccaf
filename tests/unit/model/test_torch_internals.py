"""Private names of torch, looked up in the torch that is installed."""

from __future__ import annotations

import functools
import importlib.metadata
import mmap
import re
from pathlib import Path

import pytest

from ddpdoctor.model.torch_internals import (
    LOOKED_UP_IN,
    MESSAGES,
    ROWS,
    Internal,
    Meaning,
    Message,
    functions,
    is_in,
    shows,
)

STILL = [row for row in ROWS if not row.last]
GONE = [row for row in ROWS if row.last]


@functools.cache
def _torch() -> Path:
    distribution = importlib.metadata.distribution("torch")
    return Path(str(distribution.locate_file("torch")))


def _is_defined(row: Internal) -> bool:
    text = (_torch() / row.file).read_text(encoding="utf-8")
    return re.search(rf"^\s*(async )?def {row.name}\(", text, re.MULTILINE) is not None


def test_the_rows_were_looked_up_in_the_installed_torch() -> None:
    """Another torch: look at what changed between the two, correct the rows, then LOOKED_UP_IN."""
    assert importlib.metadata.version("torch").startswith(f"{LOOKED_UP_IN}.")


@pytest.mark.parametrize("row", STILL, ids=lambda row: f"{row.file}:{row.name}")
def test_it_is_there(row: Internal) -> None:
    path = _torch() / row.file
    assert path.is_dir() if row.file.endswith("/") else path.is_file()
    assert not row.name or _is_defined(row)


@pytest.mark.parametrize("row", GONE, ids=lambda row: f"{row.file}:{row.name}")
def test_it_is_gone(row: Internal) -> None:
    assert not (_torch() / row.file).exists() or not _is_defined(row)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.words[:20])
def test_the_words_are_there(message: Message) -> None:
    with (_torch() / message.file).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        assert data.find(message.words.encode()) >= 0


def test_every_meaning_has_a_row() -> None:
    assert {row.meaning for row in ROWS} == set(Meaning)
    assert len(set(ROWS)) == len(ROWS)


def test_frames_are_known_by_file_and_function() -> None:
    graph = "/env/lib/python3.11/site-packages/torch/autograd/graph.py"
    assert shows(graph, "_engine_run_backward", Meaning.RUNS_BACKWARD)
    assert not shows("/job/graph.py", "_engine_run_backward", Meaning.RUNS_BACKWARD)
    assert shows("torch\\autograd\\graph.py", "Node._engine_run_backward", Meaning.RUNS_BACKWARD)
    assert is_in("/opt/torch/distributed/fsdp/_runtime_utils.py", Meaning.SHARDS)
    assert not is_in("/opt/torch/distributed/fsdp.py", Meaning.SHARDS)
    assert "_pre_forward" in functions(Meaning.WAITS_UNSEEN)
