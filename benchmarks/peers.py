"""Where the tools are that ours are measured beside: an environment of their own, which `make bench` makes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchmarks.measured import ROOT

#: has flake8, torchfix, pylint, and tabulate, which torch's analyzer of recorder dumps prints with
FOLDER = Path(os.environ.get("DDPDOCTOR_PEERS", ROOT / ".venv-peers"))


def packages() -> Path | None:
    """The environment's site-packages, None without such an environment."""
    return next(iter(sorted(FOLDER.glob("lib/python3*/site-packages"))), None)


def version(package: str) -> str:
    """The version of a package of that environment, "" if it is not there."""
    program = f"import importlib.metadata as m; print(m.version({package!r}))"
    try:
        told = subprocess.run([FOLDER / "bin" / "python", "-c", program], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return told.stdout.strip()
