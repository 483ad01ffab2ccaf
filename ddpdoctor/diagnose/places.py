"""Which frames are the user's, which are torch's, and what a stack says about waiting."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ddpdoctor.model.stacks import Site

_TORCH = re.compile(r"(^|/)torch/")
_STDLIB = re.compile(r"(^|/)lib/python3\.\d+/(?!site-packages|dist-packages)|^<frozen |^<string>")
_LIBRARY = re.compile(r"(^|/)(site|dist)-packages/")
_PROBE = re.compile(r"(^|/)ddpdoctor/probe/")

#: Functions of torch in which a thread sits while a collective, a point-to-point call or the store blocks it.
#: From torch 2.4 to 2.13: distributed_c10d, autograd/graph.py, nn/parallel/distributed.py, FSDP.
_BLOCKING_FILES = re.compile(
    r"torch/distributed/(distributed_c10d|rendezvous|_functional_collectives|fsdp/|_composable/|tensor/|algorithms/)"
    r"|torch/nn/parallel/distributed|torch/autograd/graph|torch/_ops|torch/distributed/utils|torch/distributed/tensor"
)


def is_torch(site: Site) -> bool:
    return bool(_TORCH.search(site.file)) or bool(_PROBE.search(site.file))


def is_user(site: Site) -> bool:
    """Code of the job itself: neither torch nor the standard library nor an installed package."""
    return not (is_torch(site) or _STDLIB.search(site.file) or _LIBRARY.search(site.file))


def user_frames(frames: Iterable[Site]) -> tuple[Site, ...]:
    return tuple(f for f in frames if is_user(f))


def innermost_user(frames: Iterable[Site]) -> Site | None:
    """The job's own line that a stack stands in; a library's, where there is no line of the job."""
    listed = tuple(frames)
    own = next((f for f in listed if is_user(f)), None)
    return own or next((f for f in listed if not is_torch(f) and not _STDLIB.search(f.file)), None)


def in_blocking_call(frames: tuple[Site, ...]) -> bool:
    """The innermost frame is torch's, in a function from which communication is waited for."""
    inner = next((f for f in frames if not _PROBE.search(f.file)), None)
    return inner is not None and bool(_BLOCKING_FILES.search(inner.file))
