"""Any input to `diagnose` gives a report or a one-line error: no traceback, no unbounded memory, no code executed."""

from __future__ import annotations

import contextlib
import io
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddpdoctor.cli import main
from tests.property.mutation import mutated, seeds

#: bytes that reading a file of one megabyte at most may take
MOST_MEMORY = 400 << 20
#: seconds of processor time for one file of at most a megabyte; most take a hundredth, the worst of them one second.
#: Processor time, since it hardly grows with what else the machine does.
MOST_SECONDS = 10.0


def _diagnose(*paths: Path) -> tuple[int, str]:
    """Exit status and what was said on stderr."""
    said, wrong = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
        status = main.main(["diagnose", *map(str, paths)])
    assert status == 2 or said.getvalue().startswith("ddpdoctor: ")
    return status, wrong.getvalue()


def _check(content: bytes, folder: Path, number: int) -> None:
    target = folder / random.Random(number).choice(("dump", "rank_3.txt", "trace_rank_1", "job.log", "7/stderr.log"))
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(content)
    begun = time.process_time()
    try:
        status, wrong = _diagnose(target if number % 2 else folder)
    finally:
        target.unlink()
    assert status in (0, 1, 2), f"{number}: {wrong}"
    assert wrong.count("\n") == (1 if status == 2 else 0), f"{number}: {wrong}"
    assert time.process_time() - begun < MOST_SECONDS, number


def _run(first: int, count: int, folder: Path) -> None:
    every = seeds()
    for number in range(first, first + count):
        chance = random.Random(number)
        _check(mutated(chance.choice(every), every, chance), folder, number)


def test_a_few_hundred_damaged_files_give_a_report_or_a_line(tmp_path: Path) -> None:
    _run(1_000_000, 300, tmp_path)


def test_every_seed_itself_is_read(tmp_path: Path) -> None:
    for number, content in enumerate(seeds()):
        _check(content, tmp_path, 2 * number)


#: files that claim much or repeat themselves
HOSTILE = (
    b"[rank1048575]: x\nnode:1:1 [0] NCCL INFO comm 0x1 rank 1 nranks 1048576 x\n",
    b"".join(b"[rank%d]: x\n" % n for n in range(20_000)),
    b"Process 1: x\n" + b"".join(b"Thread %d (idle)\n    f (a.py:%d)\n" % (n, n) for n in range(20_000)),
    b"Traceback (most recent call last):\n" + b'  File "a.py", line 1, in f\n' * 30_000 + b"ValueError: x\n",
    b"During handling of the above exception, another exception occurred:\n" * 10_000,
    b"[" * 500_000,
    b'{"entries": ' + b"[" * 400_000,
)


def test_time_is_bounded_by_the_file_and_not_by_what_it_says(tmp_path: Path) -> None:
    for number, content in enumerate(HOSTILE):
        _check(content, tmp_path, number)


def test_memory_is_bounded_by_the_file_and_not_by_what_it_says(tmp_path: Path) -> None:
    """In processes of their own, by what the kernel counts: tracing allocations takes six times as long.

    By VmHWM of proc(5), since ru_maxrss of a new program begins at what its parent used before exec.
    """
    target = tmp_path / "dump"
    inner = (
        "from ddpdoctor.cli import main; "
        f"main.main(['diagnose', {str(target)!r}]); "
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    for content in HOSTILE:
        target.write_bytes(content)
        done = subprocess.run([sys.executable, "-c", inner], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        peak = int(done.stdout.splitlines()[-1]) << 10
        assert peak < MOST_MEMORY, f"{content[:40]!r}: {peak >> 20} MB"


@pytest.mark.slow
@pytest.mark.parametrize("share", range(20))
def test_twenty_thousand_damaged_files(share: int, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _run(share * 1000, 1000, tmp_path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < MOST_MEMORY >> 10
