"""Write a synthetic job's dumps: `python -m benchmarks.dumps --family missing --ranks 1024 --entries 500 FOLDER`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.dumps.jobs import Family, Job, dumps, job
from benchmarks.dumps.wire import Writer


def write(this: Job, folder: Path, *, version: str = "2.10") -> None:
    """One file a rank, as TORCH_FR_DUMP_TEMP_FILE would name them."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, head, entries in dumps(this, version):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(Writer().dump(head, entries))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--family", type=Family, choices=list(Family), default=Family.MISSING, metavar="FAMILY")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--entries", type=int, default=500)
    given = parser.parse_args()
    this = job(given.family, given.ranks, given.entries)
    write(this, given.folder)
    print(f"{this.world} dumps of {this.entries} entries in {given.folder}: {this.code}, culprits {this.culprits}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
