"""Runs a program as another rank: `turned.py BY PROGRAM ...` adds BY to RANK, so that a culprit is on another node."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    by, *command = sys.argv[1:]
    rank = (int(os.environ["RANK"]) + int(by)) % int(os.environ["WORLD_SIZE"])
    os.execve(sys.executable, [sys.executable, *command], {**os.environ, "RANK": str(rank)})
