"""The kernel's count of processes that it killed for memory."""

from pathlib import Path

import pytest

from ddpdoctor.collect.memory_kills import memory_kills


@pytest.mark.parametrize(
    ("text", "expected"),
    [("nr_free_pages 7\noom_kill 3\ndrop_pagecache 0\n", 3), ("nr_free_pages 7\n", None), ("oom_kill x\n", None)],
)
def test_it_is_read_from_vmstat(text: str, expected: int | None, tmp_path: Path) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text(text)
    assert memory_kills(vmstat) == expected


def test_a_kernel_that_hides_it(tmp_path: Path) -> None:
    assert memory_kills(tmp_path / "none") is None
