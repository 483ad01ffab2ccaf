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
A slow response looks the same while the rank waits for it. A socket whose other end is a rank of the same job, and not
a server that is a child of one or runs in a thread of its own there, is left to other diagnoses; a connection to a rank
on a machine that was not inspected cannot be distinguished from one to a server. Where the main thread waits for
threads of its own, it must be all of these that wait for the network. Where the kernel does not show system calls (no
permission, gVisor), the stack's frames are the only evidence, and the connection is not named.

## References
https://github.com/EleutherAI/bergson/issues/249 https://github.com/pytorch/torchtitan/issues/3338
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import holders
from ddpdoctor.diagnose.blocked.syscall import BlockedSyscall, blocked_syscall, threads_waited_for, waits_on
from ddpdoctor.diagnose.codes import NETWORK_WAIT
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site, Thread

#: a server that waits for a client is in none of these
_CALLS = ("recvfrom", "recvmsg", "read", "readv", "connect", "sendto", "sendmsg")
#: modules that only access the network, of the standard library and of the most common clients
_CLIENTS = (
    *("/socket.py", "/ssl.py", "/http/client.py", "/urllib/request.py", "/smtplib.py", "/ftplib.py"),
    *("/urllib3/", "/requests/", "/httpx/", "/httpcore/", "/aiohttp/", "/botocore/", "/grpc/", "/paramiko/"),
)
#: modules in which the thread of a server waits for what a client sends
_SERVERS = ("/socket.py", "/socketserver.py", "/selectors.py", "/asyncio/", "/multiprocessing/managers.py", "/grpc/")


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for rank in facts.blockers:
        main = blocked_syscall(facts, rank)
        threads = threads_waited_for(facts, rank, main, _in_client) if main is not None else ()
        blocked = threads[0][1] if threads else main
        if blocked is not None and _in_client(blocked) and not _peers(facts, rank, blocked):
            yield _diagnosis(facts, rank, blocked, tuple(thread for thread, _ in threads))


def _in_client(blocked: BlockedSyscall) -> bool:
    return _on_socket(blocked) or blocked.within(*_CLIENTS)


def _on_socket(blocked: BlockedSyscall) -> bool:
    return blocked.calls(*_CALLS) and blocked.target is not None and blocked.target.kind == "socket"


def _peers(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> RankSet:
    """Other ranks of this job at the other end: a wait between ranks is not a network that does not respond. A child of
    one serves others, unless multiprocessing's own connections lead to it, and so does a thread that listens."""
    if blocked.target is None or not _on_socket(blocked):
        return RankSet()
    shared = blocked.within("/multiprocessing/")
    found = holders.peers(facts, blocked.target, blocked.holders, by_children=shared)
    served = RankSet() if shared else _by_children(facts, blocked)
    listening = RankSet.of(one for one in found if _listens(facts, one))
    return found - served - listening - RankSet.of([rank])


def _listens(facts: Facts, rank: Rank) -> bool:
    """Whether a thread of the rank that does not train waits for what a client sends."""
    seen = facts.rank(rank)
    others = (thread for thread in (seen.stacks.threads if seen.stacks else ()) if thread.os_id != seen.thread)
    return any(_is_in(thread.frames[:1], _SERVERS) for thread in others)


def _is_in(sites: Iterable[Site], modules: tuple[str, ...]) -> bool:
    return any(module in site.file for site in sites for module in modules)


def _by_children(facts: Facts, blocked: BlockedSyscall) -> RankSet:
    """Ranks that are at the other end by a child only, of processes that were found there."""
    ranks = {seen.worker.pid for seen in facts.evidence.ranks}
    if not blocked.holders or any(holder.pid in ranks for holder in blocked.holders):
        return RankSet()
    return holders.ranks_among(facts, blocked.holders)


def _diagnosis(facts: Facts, rank: Rank, blocked: BlockedSyscall, threads: tuple[Thread, ...]) -> Diagnosis:
    culprit = RankSet.of([rank])
    waiting = facts.waiting - culprit
    peer = f" from {blocked.target.target.removeprefix('tcp ')}" if blocked.target and _on_socket(blocked) else ""
    server = _server(facts, rank, blocked)
    return diagnosis(
        NETWORK_WAIT,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=f"rank {rank} waits for the network at {wording.place(blocked.site)}{peer}",
        why=f"{_inside(rank, threads)} with no timeout or a long one.{server}{wording.held_up(facts, waiting)}",
        fix=(
            "Set a timeout on the request, or access the network before the process group exists or in a thread of "
            "its own."
        ),
        locations=(facts.location([rank], blocked.site), *facts.locations_of(waiting)),
        evidence=tuple(_evidence(facts, rank, blocked)),
    )


def _inside(rank: Rank, threads: tuple[Thread, ...]) -> str:
    if not threads:
        return f"Rank {rank} uses no CPU and is inside a network client"
    names = ", ".join(sorted({thread.name or str(thread.os_id) for thread in threads}))
    return f"Rank {rank} uses no CPU: its main thread waits for its own threads ({names}), inside a network client"


def _server(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> str:
    """Who has to answer, as a sentence."""
    found = holders.peers(facts, blocked.target, blocked.holders) if blocked.target else RankSet()
    inside = RankSet.of(one for one in found if one != rank and _listens(facts, one))
    if inside:
        return f" Its other end is in {wording.ranks(inside)}, where a thread beside the one that trains serves it."
    return f" The server is {holders.listed(facts, blocked.holders)}." if blocked.holders else ""


def _evidence(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> Iterator[str]:
    if blocked.inside:
        inner = blocked.inside[0]
        yield f"rank {rank} is in {inner.function} of {inner.file.rpartition('/')[2]}"
    what = waits_on(facts, blocked)
    if what:
        yield f"its system call is {what}"
    elif blocked.wchan:
        yield f"it sleeps in the kernel's {blocked.wchan}"
