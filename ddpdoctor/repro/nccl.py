"""Impure. Whether this machine can run a fixture on NCCL, with how many ranks and in which environment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ddpdoctor.repro.case import Case

#: the first version in which ranks can share a GPU (NCCL_MULTI_RANK_GPU_ENABLE)
SHARING = (2, 30)
#: seconds that importing torch may take
_LONGEST = 120.0
_ASK = """
import ctypes, json, torch
has = torch.distributed.is_available() and torch.distributed.is_nccl_available()
version = torch.cuda.nccl.version() if has else ()
version = version if isinstance(version, tuple) else ()
try:
    # torch tells what it was built with (seen with 2.11); what is loaded may be newer
    number = ctypes.c_int()
    ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(number))
    version = (number.value // 10000, number.value // 100 % 100, number.value % 100) if version else ()
except (OSError, AttributeError):
    pass
# a fourth part is a suffix, which is text
print(json.dumps([torch.cuda.device_count(), list(version[:3])]))
"""


@dataclass(frozen=True, slots=True)
class Nccl:
    """What torch finds on this machine."""

    gpus: int
    #: for example (2, 30, 7); empty if this torch has no NCCL
    version: tuple[int, ...]
    #: why it is not known what torch finds, "" if it is known
    unknown: str = ""

    def ranks_for(self, case: Case) -> int:
        """The number of ranks for a case: its own, or two if there are too few GPUs and two ranks show the fault as
        well."""
        short = case.ranks > max(self.gpus, 1)
        return 2 if short and (case.harm or case.culprits_at(2) is not None) else case.ranks

    def missing(self) -> str:
        """Why nothing can run on NCCL here, "" if something may."""
        if self.unknown:
            return self.unknown
        if not self.version:
            return "this torch has no NCCL"
        return "" if self.gpus else "torch finds no GPU"

    def why_not(self, case: Case, ranks: int) -> str:
        """Why this number of ranks of a case cannot run here, "" if they can."""
        if lacking := self.missing():
            return lacking
        found = f"{self.gpus} GPU{'s' if self.gpus > 1 else ''}"
        if ranks > self.gpus and case.backends == ("nccl",):
            return f"each of its {ranks} ranks needs a GPU of its own, and torch finds {found}"
        if ranks > self.gpus and self.version < SHARING:
            have = _dotted(self.version)
            return f"{ranks} ranks on {found} need NCCL {_dotted(SHARING)} or newer, and torch has {have}"
        return ""

    def environment(self, ranks: int) -> Mapping[str, str]:
        """NCCL settings for ranks that share a GPU: few channels, and no NVLink SHARP."""
        if ranks <= self.gpus:
            return {}
        return {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_MAX_CTAS": "4", "NCCL_NVLS_ENABLE": "0"}


def find() -> Nccl:
    """Query the torch that the fixtures will use, in a separate process, because it takes seconds and memory."""
    try:
        done = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, timeout=_LONGEST)
    except OSError as error:
        return Nccl(0, (), f"torch could not be queried: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Nccl(0, (), f"torch did not answer within {_LONGEST:.0f} s")
    try:
        gpus, version = json.loads(done.stdout.splitlines()[-1])
        return Nccl(int(gpus), tuple(int(part) for part in version))
    except (ValueError, IndexError, TypeError):
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return Nccl(0, (), f"torch could not be queried: {said}")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
