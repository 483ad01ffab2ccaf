"""# DD243 uninterruptible-io

## What
A rank is in a system call that the kernel does not interrupt (state D): a read or stat on NFS, Lustre or FUSE whose
server does not respond.

## Why it hangs
The others wait in a collective for a rank that waits for storage. Neither a signal nor a debugger can reach it.

## Example
    shard = torch.load("/mnt/nfs/shards/0007.pt")     # the file server is away

## Fix
Check the storage: `dmesg`, the server, the mount. Copy data to local disks before training. Mount with `soft` or
`timeo` if losing the mount is better than waiting for it.

## When it is wrong
A large read may be in state D for a while and then continue. The diagnosis is `likely` only if the kernel function
belongs to a network file system and nothing changed between two samples, and `possible` otherwise.

## References
https://github.com/open-mmlab/mmdetection3d/issues/952 https://man7.org/linux/man-pages/man5/nfs.5.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import UNINTERRUPTIBLE_IO
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.processes import ThreadState
from ddpdoctor.model.ranks import Rank, RankSet

#: kernel functions of network and user-space file systems
_REMOTE = re.compile(r"^(nfs|rpc|fuse|ll_|cl_|ldlm|ptlrpc|osc_|ceph|cifs|smb|gpfs|cxi|beegfs|request_wait_answer)")


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for rank in facts.doing(Activity.STILL, Activity.UNKNOWN):
        thread = _blocked(facts, rank)
        if thread:
            yield _diagnosis(facts, rank, thread)


def _blocked(facts: Facts, rank: Rank) -> ThreadState | None:
    """The main thread, if it is in an uninterruptible sleep."""
    seen = facts.rank(rank)
    threads = seen.process.threads if seen.process else ()
    return next((t for t in threads if t.os_id == seen.thread and t.state == "D"), None)


def _diagnosis(facts: Facts, rank: Rank, thread: ThreadState) -> Diagnosis:
    culprit = RankSet.of([rank])
    waiting = facts.waiting - culprit
    remote = _REMOTE.match(thread.wchan) is not None
    still = facts.state(rank).activity is Activity.STILL
    confidence = Confidence.LIKELY if remote and still else Confidence.POSSIBLE
    function = f" in the kernel's {thread.wchan}" if thread.wchan else ""
    what = "a network file system" if remote else "storage"
    return diagnosis(
        UNINTERRUPTIBLE_IO,
        waiting,
        confidence=confidence,
        culprits=culprit,
        summary=f"rank {rank} waits for {what}{function} at {wording.place(facts.state(rank).site)}",
        why=(
            f"The process is in state D{function}: the kernel waits for a device or a server and allows nothing to "
            "interrupt it. py-spy and SIGKILL may not reach it either."
        ),
        fix=(
            "Check the storage first: dmesg, the file server, the mount. Copy the data to local disks before training."
        ),
        locations=(*facts.locations_of(culprit), *facts.locations_of(waiting)),
        evidence=(f"rank {rank}: main thread in state D{function}",),
    )
