"""`ddpdoctor lint` as people call it, and sources that it finds something in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
    """The environment without what decides how findings are told, and with `more`."""
    return {**{name: value for name, value in os.environ.items() if name not in _DECIDES}, **more}


def lint(folder: Path, *argv: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run it in a folder; `more` is set in its environment."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, "lint", *argv],
        cwd=folder,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env=environment(**more),
    )
