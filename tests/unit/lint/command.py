"""Runs `ddpdoctor lint` as users do, and provides sources with findings."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from ddpdoctor.cli import main
from ddpdoctor.lint import engine

BROKEN = """import torch.distributed as dist

def main():
    if dist.get_rank() == 0:
        dist.barrier()
"""
LOADER = """from torch.utils.data import DataLoader, DistributedSampler

def main(data):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler, shuffle=True)
    for epoch in range(3):
        for batch in loader:
            step(batch)
"""
#: what `--fix --unsafe-fixes` makes of it
LOADER_FIXED = LOADER.replace(", shuffle=True", "").replace(
    "        for batch", "        sampler.set_epoch(epoch)\n        for batch"
)
PROGRAM = "import sys; from ddpdoctor.cli.main import main; sys.exit(main(sys.argv[1:]))"
#: what a terminal or a service would add to the environment of these tests
_DECIDES = ("NO_COLOR", "FORCE_COLOR", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def environment(**more: str) -> dict[str, str]:
    """The environment without variables that change the output of findings, and with `more`."""
    return {**{name: value for name, value in os.environ.items() if name not in _DECIDES}, **more}


@contextlib.contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@dataclass(frozen=True)
class Done:
    """How a run ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def lint(folder: Path, *argv: str, stdin: str = "", **more: str) -> Done:
    """Run it in a folder, in this process; `more` is set in its environment."""
    encoding, _, errors = more.get("PYTHONIOENCODING", "utf-8").partition(":")
    streams = [io.TextIOWrapper(io.BytesIO(text), encoding, errors or "strict", newline="") for text in (b"", b"")]
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    with (
        mock.patch.object(sys, "stdin", given),
        mock.patch.object(sys, "stdout", streams[0]),
        mock.patch.object(sys, "stderr", streams[1]),
        mock.patch.dict(os.environ, environment(**more), clear=True),
        # what is right for a process that does nothing else
        mock.patch.object(engine, "relax_collector"),
        _in(folder),
    ):
        status = main.main(["lint", *argv])
    told = []
    for stream in streams:
        stream.flush()
        told.append(stream.buffer.getvalue().decode("utf-8"))
    return Done(status, *told)
