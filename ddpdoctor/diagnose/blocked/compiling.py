"""Whether a rank is compiling: torch.compile, Triton, an extension, a kernel that is built on first use."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.digest.waits import uses_processor
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model import torch_internals
from ddpdoctor.model.processes import Child
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.torch_internals import Meaning

#: Python code outside torch that runs during compilation, and not when the compiled result is called
_COMPILERS = re.compile(r"/triton/compiler/|/triton/runtime/build\.py$|/deep_gemm/jit")
#: programs that compile, as the kernel names them (15 characters at most)
_PROGRAMS = frozenset(
    {
        *("as", "c++", "cc", "cc1", "cc1plus", "cicc", "clang", "clang++", "collect2", "cudafe++", "fatbinary"),
        *("g++", "gcc", "hipcc", "ld", "ld.lld", "lld", "ninja", "nvcc", "nvlink", "ptxas"),
    }
)


@dataclass(frozen=True, slots=True)
class Compiling:
    """Evidence that a rank is compiling."""

    #: in words: `convert_frame.py compiles`, `its child cc1plus (pid 12) works`
    shown_by: str


def compiling(facts: Facts, rank: Rank) -> Compiling | None:
    """None if the rank does something else, or if that is not known."""
    if facts.state(rank).activity is not Activity.WORKING:
        return None
    seen = facts.rank(rank)
    main = frames.main_thread(seen)
    for frame in main.frames if main else ():
        outside = _COMPILERS.search(frame.file.replace("\\", "/"))
        if outside or torch_internals.is_in(frame.file, Meaning.COMPILES):
            return Compiling(f"its stack is in {frame.function} of {frame.file.rpartition('/')[2]}")
    for child in seen.children:
        if (program := _program(child)) and child.motion and uses_processor(child.process, child.motion):
            return Compiling(f"its child {child.worker.pid} ({program}) uses {child.motion.cpu_share:.0%} of a core")
    return None


def _program(child: Child) -> str:
    """The compiler that the child runs, "" for any other program."""
    threads = child.process.threads if child.process else ()
    names = {thread.name for thread in threads if thread.os_id == child.worker.pid}
    return next(iter(names & _PROGRAMS), "")
