"""# DD242 gil-held

## What
A rank's process is inside a native call that holds Python's global interpreter lock and does not return.

## Why it hangs
No other thread of that process can run Python code, not even to report an error. The other ranks wait for it in a
collective.

## Example
    ctypes.PyDLL("libdriver.so").wait_for_device()      # PyDLL keeps the lock, CDLL releases it

## Fix
Release the lock around blocking native calls (ctypes.CDLL, Py_BEGIN_ALLOW_THREADS, pybind11's gil_scoped_release).

At the end of a program it may be torch's own: with gloo, a model in DDP that goes while gloo's thread lets go of the
last backward joins that thread with the lock held, and the thread needs the lock (seen with torch 2.13 in one of about
ten ends of a small job). A `dist.barrier()` after the last step, before the model goes, avoids it.

## When it is wrong
The heartbeat of the probe also needs the lock. A machine so busy that a thread does not run for seconds looks the same.

## References
https://github.com/pytorch/pytorch/issues/117312 https://github.com/hiyouga/LlamaFactory/issues/6964
https://github.com/pytorch/pytorch/issues/56297 https://github.com/pytorch/pytorch/pull/173568
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import GIL_HELD
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for rank in facts.blockers:
        state = facts.state(rank)
        if state.activity is Activity.STILL and state.holds_gil:
            yield _diagnosis(facts, rank)


def _diagnosis(facts: Facts, rank: Rank) -> Diagnosis:
    culprit = RankSet.of([rank])
    site = _holder(facts, rank) or facts.state(rank).site
    page = facts.rank(rank).page
    silent = facts.evidence.timing.collected - page.heartbeat if page else 0.0
    waiting = facts.waiting - culprit
    return diagnosis(
        GIL_HELD,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=(
            f"rank {rank} is in a native call at {wording.place(site)} that holds the interpreter's lock, for "
            f"{wording.seconds(silent)}"
        ),
        why=(
            f"Python has not run in rank {rank} since: its heartbeat thread does not run, and the process uses no "
            f"CPU.{wording.held_up(facts, waiting)}"
        ),
        fix="Release the lock around the call (ctypes.CDLL, not PyDLL; Py_BEGIN_ALLOW_THREADS), or give it a timeout.",
        locations=(
            *((facts.location([rank], site),) if site else ()),
            *facts.locations_of(waiting),
        ),
        evidence=(f"rank {rank}: no heartbeat for {wording.seconds(silent)}, and no CPU time between two samples",),
    )


def _holder(facts: Facts, rank: Rank) -> Site | None:
    """The position of the thread that holds the lock, as far as py-spy shows it."""
    stacks = facts.rank(rank).stacks
    owner = next((thread for thread in stacks.threads if thread.owns_gil is Observed.YES), None) if stacks else None
    return frames.innermost_user_frame(owner.frames) if owner else None
