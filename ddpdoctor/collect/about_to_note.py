"""Waits for the stacks that ranks are about to take of themselves (probe/thread_stacks.py), if nobody else may.

A look can begin as soon as nothing has moved for as long as the probe waits before it takes stacks; then the next
heartbeat takes them, a second later, and on a busy machine later than that. A look that ends before has no stack of
such a rank, and nothing is lost if it waits: what it looks at stands.
"""

from __future__ import annotations

import time
from pathlib import Path

from ddpdoctor.collect.capture import Sample
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import Role
from ddpdoctor.probe import page
from ddpdoctor.probe.page import HEARTBEAT_SECONDS
from ddpdoctor.probe.thread_stacks import STILL

#: seconds that are waited at most: a heartbeat that has just missed the time, with one more for a busy machine
LONGEST = STILL + 2 * HEARTBEAT_SECONDS
#: seconds between two readings of the pages
READING = 0.1


def wait(sample: Sample, run: Path) -> None:
    """Return once no rank whose stacks `sample` lacks is about to take them itself, or after LONGEST seconds."""
    began = time.monotonic()
    refused = {gap.rank for gap in sample.gaps if gap.source is Source.STACKS}
    pids = [worker.pid for worker in sample.workers if worker.role is Role.RANK and worker.rank in refused]
    standing = {pid: revision for pid in pids if (revision := _due(run, pid)) is not None}
    while standing and time.monotonic() - began < LONGEST:
        time.sleep(READING)
        # a rank that has moved goes on, or stands anew: neither is what this look is about
        standing = {pid: revision for pid, revision in standing.items() if _due(run, pid) == revision}


def _due(run: Path, pid: int) -> int | None:
    """The page's revision if the process is about to take its stacks: it has taken none since it last moved, and its
    heart beats. Else None."""
    try:
        revision, heartbeat, stacks = page.read_stacks(run / f"{pid}.page")
    except (OSError, ValueError):
        return None
    taken = stacks is not None and stacks.get("revision") == revision
    return None if taken or time.monotonic() - heartbeat > LONGEST else revision
