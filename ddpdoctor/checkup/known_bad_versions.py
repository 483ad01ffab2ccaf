"""Versions that are known to hang or fail, each with who said so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: major version of CUDA -> major version of the oldest driver that runs it
#: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
DRIVERS = {11: 450, 12: 525, 13: 580}


@dataclass(frozen=True, slots=True)
class BadNccl:
    """A range of NCCL's versions, both ends included."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    what: str
    remedy: str
    reference: str
    #: it hangs only where this variable is set to 1; "" always
    with_variable: str = ""

    def applies(self, environ: Mapping[str, str]) -> bool:
        return not self.with_variable or environ.get(self.with_variable) == "1"


BAD_NCCL = (
    BadNccl(
        (2, 29, 2),
        (2, 29, 2),
        "it has a hang that 2.29.3 mends",
        "pip install 'nvidia-nccl-cu12>=2.29.3'",
        "https://github.com/pytorch/pytorch/pull/174338",
    ),
    BadNccl(
        (2, 25, 1),
        (2, 25, 1),
        "ending a job can hang in ncclCommAbort; 2.26.2 mends it",
        "pip install 'nvidia-nccl-cu12>=2.26.2'",
        "https://github.com/pytorch/pytorch/issues/149153",
    ),
    BadNccl(
        (2, 18, 1),
        (2, 18, 1),
        "ending a job can hang in ncclCommAbort; 2.19.1 mends it",
        "pip install 'nvidia-nccl-cu12>=2.19.1'",
        "https://github.com/NVIDIA/nccl/issues/992",
    ),
    BadNccl(
        (2, 14),
        (2, 16, 99),
        "it hangs with CUDA_LAUNCH_BLOCKING=1; 2.17 mends it",
        "unset CUDA_LAUNCH_BLOCKING",
        "https://github.com/pytorch/pytorch/pull/97843",
        "CUDA_LAUNCH_BLOCKING",
    ),
)
