"""# DD233 network-wait

## What
A rank waits for a network response (from a tracking server, a model hub, object storage, a name server) during
training, and the response does not arrive.

## Why it hangs
A client without a timeout waits for ever. The other ranks are in a collective that this rank has not reached.

## Example
    if rank == 0:
        requests.post(url, json=metrics)         # no timeout: the default is none
    dist.barrier()

## Fix
Set a timeout on every request, use the client's offline mode, or access the network before the process group exists.

## When it is wrong
A slow response looks the same while the rank waits for it. A socket whose other end is a rank of the same job is left
to other diagnoses; a connection to a rank on a machine that was not inspected cannot be distinguished from one to a
server. Where the kernel does not show system calls (no permission, gVisor), the stack's frames are the only evidence,
and the connection is not named.

## References
https://github.com/EleutherAI/bergson/issues/249 https://github.com/pytorch/torchtitan/issues/3338
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import holders
from ddpdoctor.diagnose.blocked.syscall import Sleep, sleep_of, waits_on
from ddpdoctor.diagnose.codes import NETWORK_WAIT
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet

#: a server that waits for somebody to call it is in none of these
_CALLS = ("recvfrom", "recvmsg", "read", "readv", "connect", "sendto", "sendmsg")
#: modules that do nothing but talk to the network, of the standard library and of the clients that are used most
_CLIENTS = (
    *("/socket.py", "/ssl.py", "/http/client.py", "/urllib/request.py", "/smtplib.py", "/ftplib.py"),
    *("/urllib3/", "/requests/", "/httpx/", "/httpcore/", "/aiohttp/", "/botocore/", "/grpc/", "/paramiko/"),
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for rank in facts.blockers:
        sleep = sleep_of(facts, rank)
        if sleep is not None and (_on_socket(sleep) or sleep.within(*_CLIENTS)) and not _peers(facts, rank, sleep):
            yield _diagnosis(facts, rank, sleep)


def _on_socket(sleep: Sleep) -> bool:
    return sleep.calls(*_CALLS) and sleep.target is not None and sleep.target.kind == "socket"


def _peers(facts: Facts, rank: Rank, sleep: Sleep) -> RankSet:
    """Other ranks of this job at the other end: what they owe each other is no network that does not answer."""
    found = holders.peers(facts, sleep.target, sleep.holders) if sleep.target and _on_socket(sleep) else RankSet()
    return found - RankSet.of([rank])


def _diagnosis(facts: Facts, rank: Rank, sleep: Sleep) -> Diagnosis:
    culprit = RankSet.of([rank])
    waiting = facts.waiting - culprit
    peer = f" from {sleep.target.target.removeprefix('tcp ')}" if sleep.target and _on_socket(sleep) else ""
    server = f" The server is {holders.listed(facts, sleep.holders)}." if sleep.holders else ""
    return Diagnosis(
        NETWORK_WAIT.code,
        NETWORK_WAIT.name,
        Confidence.LIKELY,
        Confidence.LIKELY,
        culprit,
        waiting,
        f"rank {rank} waits for the network at {wording.place(sleep.site)}{peer}",
        f"Rank {rank} uses no processor and is inside a network client that has no time limit, or a long one."
        f"{server}{wording.held_up(facts, waiting)}",
        "Give the request a timeout, or talk to the network before the process group exists or in a thread of its own.",
        (facts.location([rank], sleep.site), *facts.standing_locations(waiting)),
        tuple(_evidence(facts, rank, sleep)),
    )


def _evidence(facts: Facts, rank: Rank, sleep: Sleep) -> Iterator[str]:
    if sleep.inside:
        inner = sleep.inside[0]
        yield f"rank {rank} is in {inner.function} of {inner.file.rpartition('/')[2]}"
    what = waits_on(facts, sleep)
    if what:
        yield f"its system call is {what}"
    elif sleep.wchan:
        yield f"it sleeps in the kernel's {sleep.wchan}"
