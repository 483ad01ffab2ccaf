"""Runs a program with rotated ranks: the process that its launcher started as rank r is rank r + 1."""

import os
import runpy
import sys

if __name__ == "__main__":
    os.environ["RANK"] = str((int(os.environ["RANK"]) + 1) % int(os.environ["WORLD_SIZE"]))
    sys.argv.pop(0)
    runpy.run_path(sys.argv[0], run_name="__main__")
