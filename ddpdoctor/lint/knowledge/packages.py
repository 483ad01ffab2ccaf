"""Packages that are read through the tables of this folder and never followed into."""

from __future__ import annotations

#: packages that are always read through the tables, never followed into
NEVER_LOCAL = frozenset({
    "torch", "numpy", "math", "os", "sys", "time", "random", "argparse", "tqdm", "datetime", "uuid", "tempfile",
    "collections", "itertools", "functools",
})  # fmt: skip
