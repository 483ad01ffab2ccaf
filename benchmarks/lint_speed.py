"""How fast `ddpdoctor lint` is, side by side with other linters on the same tree, in one run.

    python benchmarks/lint_speed.py [FOLDER]        (default: this interpreter's site-packages)

Tools that are not installed are said to be missing and left out. Each is run three times; the best time counts.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

RUNS = 3
LIMIT = 600.0

_PROGRAM = "import sys; from ddpdoctor.cli.main import main; sys.exit(main(sys.argv[1:]))"


def _commands(folder: str) -> dict[str, list[str]]:
    return {
        "ddpdoctor lint --jobs 4": [sys.executable, "-c", _PROGRAM, "lint", "--jobs", "4", "-o", "concise", folder],
        "ruff check --select ALL": ["ruff", "check", "--no-cache", "--isolated", "--select", "ALL", "-q", folder],
        "flake8 (with torchfix if installed)": ["flake8", "--jobs", "4", "--isolated", folder],
        "pylint": ["pylint", "--jobs", "4", "--disable", "all", "--enable", "E", folder],
    }


def _best(command: list[str]) -> float | None:
    """Seconds of the fastest run; None where it did not end in time."""
    times: list[float] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        try:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return None
        times.append(time.perf_counter() - start)
    return min(times)


def _single_file() -> float | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.py"
        path.write_text("import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n")
        return _best([sys.executable, "-c", _PROGRAM, "lint", str(path)])


def main() -> None:
    """Print a line for each tool."""
    folder = sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_path("purelib")
    single = _single_file()
    print(f"one file, end to end: {single:.3f} s" if single is not None else "one file: did not end")
    for name, command in _commands(folder).items():
        if shutil.which(command[0]) is None:
            print(f"{name:<40} not installed")
            continue
        seconds = _best(command)
        print(f"{name:<40} {'over ' + str(LIMIT) if seconds is None else f'{seconds:8.2f}'} s")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process of them all: {peak:.0f} MB")


if __name__ == "__main__":
    main()
