"""# DD244 stopped-process

## What
A rank's process is stopped (state T) by SIGSTOP or SIGTSTP, a debugger, or a container freezer.

## Why it hangs
The others wait in a collective for a process that does not run. SIGCONT would resume it, so this is not a proven
deadlock.

## Example
    os.kill(os.getpid(), signal.SIGSTOP)     # "hold for the debugger"

## Fix
`kill -CONT <pid>`, and find out who sent the signal.

## When it is wrong
The state comes from the kernel. Whether the rank would have arrived without the stop is not known.

## References
https://man7.org/linux/man-pages/man7/signal.7.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import STOPPED_PROCESS
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    stopped = facts.doing(Activity.STOPPED)
    if not stopped:
        return
    who = wording.ranks(stopped)
    pids = ", ".join(str(facts.rank(rank).worker.pid) for rank in stopped)
    site = facts.state(stopped.members[0]).site
    waiting = facts.waiting - stopped
    rest = (
        f"; {wording.ranks(waiting)} {wording.verb(waiting, 'waits', 'wait')} in {wording.waiting(facts, waiting)}"
        if waiting
        else ""
    )
    yield diagnosis(
        STOPPED_PROCESS,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=stopped,
        summary=(
            f"{who} {wording.verb(stopped, 'is', 'are')} stopped by a "
            f"signal{f' at {wording.place(site)}' if site else ''}{rest}"
        ),
        why=(
            f"The kernel does not run {who}: a SIGSTOP or SIGTSTP, a debugger or a container freezer stopped it. It "
            "would continue after SIGCONT, so no deadlock is proven."
        ),
        fix=f"Continue it with `kill -CONT {pids.replace(',', '')}` and find out what stopped it.",
        locations=(*facts.locations_of(stopped), *facts.locations_of(waiting)),
        evidence=tuple(f"rank {rank}: process {facts.rank(rank).worker.pid} is in state T" for rank in stopped),
    )
