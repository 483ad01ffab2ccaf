"""Impure. Whether this machine can run a fixture on NCCL, and with what environment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

#: the first version in which ranks can share a GPU (NCCL_MULTI_RANK_GPU_ENABLE)
SHARING = (2, 30)
#: seconds that importing torch may take
_LONGEST = 120.0
_ASK = """
import json, torch
has = torch.distributed.is_available() and torch.distributed.is_nccl_available()
version = torch.cuda.nccl.version() if has else ()
version = version if isinstance(version, tuple) else ()
print(json.dumps([torch.cuda.device_count(), list(version)]))
"""


@dataclass(frozen=True, slots=True)
class Nccl:
    """What torch finds on this machine."""

    gpus: int
    #: (2, 30, 7); empty where this torch has no NCCL
    version: tuple[int, ...]

    def refuses(self, ranks: int) -> str:
        """Why so many ranks cannot run here, "" if they can."""
        if not self.version:
            return "this torch has no NCCL"
        if not self.gpus:
            return "torch finds no GPU"
        if ranks > self.gpus and self.version < SHARING:
            wanted = ".".join(map(str, SHARING))
            return (
                f"{ranks} ranks on {self.gpus} GPU{'s' if self.gpus > 1 else ''} need NCCL {wanted} or newer, "
                f"and torch has {'.'.join(map(str, self.version))}"
            )
        return ""

    def environment(self, ranks: int) -> Mapping[str, str]:
        """What NCCL needs to be told where ranks share a GPU: few channels, and no NVLink SHARP."""
        if ranks <= self.gpus:
            return {}
        return {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_MAX_CTAS": "4", "NCCL_NVLS_ENABLE": "0"}


def find() -> Nccl:
    """Ask the torch that the fixtures will run with, in a process of its own: it takes seconds and memory."""
    try:
        done = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, timeout=_LONGEST)
        gpus, version = json.loads(done.stdout.splitlines()[-1])
        return Nccl(int(gpus), tuple(int(part) for part in version))
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError, TypeError):
        return Nccl(0, ())
