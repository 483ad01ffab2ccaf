"""One verdict from very many nodes: the job's real store on this machine, and everything that travels through it.

    python -m benchmarks.nodes_scale [--nodes 16 64 256 1024 4096] [--kinds 12]

Evidence of real hangs (fixtures run here once, kept in build/nodes-scale) is that of a few ranks of a job of 8 on each
node: the culprits' at a random place, an innocent rank's everywhere else, some of them a step ahead. Four nodes run the
real watcher's part with a real helper each; the others are clients of torch in a few processes, which do what a helper
does. Measured: seconds from the first call for a meeting until every node has the verdict, memory of the leader, bytes
of a digest, connections to the store, and what an operation of the job's own client takes meanwhile.

The store's only thread asks for the name of each client that connects, so all runs in a mount namespace in which this
machine's own addresses have names: where a resolver answers slowly, thousands of connections take minutes.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import os
import random
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil

from benchmarks.dumps.plot import Series, plot
from ddpdoctor.collect import bundle
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.meeting import compact, episode, messages, wire
from ddpdoctor.meeting.digest import digest
from ddpdoctor.meeting.messages import Absent, Digest, Entry, Why
from ddpdoctor.meeting.session import Session
from ddpdoctor.meeting.store import Address, StoreBoard
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.repro.catalogue import load_all, root

KEPT = Path("build/nodes-scale")
ROOM = "ddpdoctor/1/scale.0"
#: ranks of a node, nodes with a real helper, processes that stand for all others
RANKS, REAL, PROCESSES = 8, 4, 4
#: hangs that end in a proof
KINDS = (
    *("uneven-inputs", "rank-conditional-collective", "local-stop-decision", "skipped-batch", "no-sync-mismatch"),
    *("swallowed-exception", "barrier-off-by-one", "collective-order-mismatch", "one-rank-forward-through-ddp"),
    *("rank-finished-early", "exception-masked", "conditional-sharded-module"),
)
#: share of innocent ranks that have counted one batch more
AHEAD = 0.02
#: seconds in which all nodes connect
CONNECTING = 180.0
#: what must hold at 1,024 nodes
MOST_SECONDS, MOST_MEMORY, MOST_BYTES = 5.0, 500 << 20, 2048


@dataclasses.dataclass(frozen=True)
class Hang:
    """One kind of hang as it was seen on this machine."""

    name: str
    code: str
    capture: Capture
    evidence: Evidence
    odd: Rank
    innocent: Rank


def hangs(number: int) -> list[Hang]:
    """The evidence of so many kinds, from runs of fixtures that are kept."""
    from tests.e2e.job import forked, watch

    cases = {case.name: case for case in load_all(root())}
    found = []
    for name in KINDS[:number]:
        case, folder = cases[name], KEPT / name
        if not (folder / "bundle").exists():
            print(f"running {name}", file=sys.stderr)
            watch(forked(case.broken, case.ranks), folder.absolute(), "--on-hang", "stop", timeout=120)
        capture = bundle.read(folder / "bundle")
        evidence = dataclasses.replace(assemble(capture), code=capture.code)
        first = examine(evidence).diagnoses[0]
        odd = next(iter(first.culprits))
        innocent = next(one.rank for one in evidence.ranks if one.rank not in first.culprits)
        found.append(Hang(name, first.code, capture, evidence, odd, innocent))
    return found


class Large:
    """A job of many nodes that hangs as `hang` does."""

    def __init__(self, hang: Hang, nodes: int, dice: random.Random) -> None:
        self.hang, self.nodes, self.world = hang, nodes, nodes * RANKS
        #: rank 0's conditions hold for rank 0 alone
        self.odd = Rank(0) if hang.odd == 0 else Rank(dice.randrange(1, self.world))
        ahead = {Rank(dice.randrange(self.world)) for _ in range(int(self.world * AHEAD))} - {self.odd}
        self.ahead = ahead
        self._kinds = {kind: self._behaviour(kind) for kind in ("odd", "ahead", "usual")}
        self._default = Group("0", tuple(Rank(rank) for rank in range(self.world)), "default_pg")

    def kind(self, rank: Rank) -> str:
        return "odd" if rank == self.odd else "ahead" if rank in self.ahead else "usual"

    def _source(self, kind: str) -> RankEvidence:
        seen = self.hang.evidence.rank(self.hang.odd if kind == "odd" else self.hang.innocent)
        assert seen is not None
        return seen

    def _behaviour(self, kind: str) -> messages.Behaviour:
        one = dataclasses.replace(self.hang.evidence, ranks=(self._source(kind),))
        (found,) = digest(one, Rank(0), 5.0, stopped=RankSet(), stops=True).behaviours
        counts = (found.counts[0] + 1, *found.counts[1:]) if kind == "ahead" and found.counts else found.counts
        return dataclasses.replace(found, counts=counts)

    def digest(self, node: int) -> Digest:
        here: dict[str, list[int]] = {}
        for rank in range(node * RANKS, (node + 1) * RANKS):
            here.setdefault(self.kind(Rank(rank)), []).append(rank)
        told = (dataclasses.replace(self._kinds[kind], ranks=str(RankSet.of(rs))) for kind, rs in here.items())
        return Digest(Rank(node * RANKS), 5.0, tuple(told), stops=True)

    def parts(self, node: int, ranks: RankSet) -> bytes:
        """The real bytes of the ranks that stand here for those that are asked for."""
        asked = [rank for rank in range(node * RANKS, (node + 1) * RANKS) if rank in ranks]
        sources = RankSet.of(self._source(self.kind(Rank(rank))).rank for rank in asked)
        return wire.pack(wire.of_ranks(self.hang.capture, sources), f"node-{node}")

    def evidence(self, ranks: RankSet) -> Evidence:
        """What the ranks show, as the ranks of the large job that they stand for."""
        seen = tuple(self._renumbered(rank) for rank in ranks)
        return dataclasses.replace(self.hang.evidence, world_size=self.world, ranks=seen, gaps=())

    def _renumbered(self, rank: Rank) -> RankEvidence:
        """With the default group of the large job; other groups stay what they are."""
        seen, whole = self._source(self.kind(rank)), self._default

        def group(old: Group | None) -> Group | None:
            return whole if old is not None and old.name == "0" else old

        page = seen.page
        if page is not None:
            page = dataclasses.replace(
                page,
                rank=rank,
                world_size=self.world,
                groups=tuple(group(one) or one for one in page.groups),
                calls=tuple(dataclasses.replace(one, group=group(one.group)) for one in page.calls),
                events=tuple(
                    dataclasses.replace(one, call=dataclasses.replace(one.call, group=group(one.call.group)))
                    if one.call
                    else one
                    for one in page.events
                ),
            )
        return dataclasses.replace(seen, rank=rank, page=page)


class Watcher:
    """The part of one real node, as ddpdoctor/observe/delegate.py does it."""

    def __init__(self, job: Large, node: int) -> None:
        self.job, self.node = job, node

    def digest(self, node: Rank, why: Why) -> Digest:
        del node, why
        return self.job.digest(self.node)

    def parts(self, ranks: RankSet, why: Why) -> bytes | None:
        del why
        return self.job.parts(self.node, ranks)

    def judge(self, parts: Mapping[Rank, bytes], absent: tuple[Absent, ...], digests: Mapping[Rank, Digest]) -> bytes:
        del absent
        for data in parts.values():
            assemble(wire.unpack(data)[0])
        alike = episode.classes(digests)
        chosen = episode.representatives(digests)
        evidence = self.job.evidence(chosen)
        if sum(map(len, alike)) > episode.MOST_RANKS:
            standing = compact.Standing.of(chosen, alike, self.job.world)
            hosts = (compact.Host(str(one.members), f"node-{node // RANKS}") for node, one in digests.items())
            small = dataclasses.replace(examine(compact.reduced(evidence, standing)), code={})
            return messages.pack(compact.compacted(small, standing, hosts))
        return messages.pack(compact.Compact(dataclasses.replace(examine(evidence), code={})))


def others(port: int, job: Large, numbers: Sequence[int], ready: Any, done: Any) -> None:
    """Many nodes in one process: a client each, which waits, leaves what it is asked for, and waits for the verdict."""
    from torch.distributed import TCPStore

    def be_node(node: int, begin: threading.Barrier) -> None:
        store = TCPStore("127.0.0.1", port, None, False, timedelta(seconds=300), wait_for_workers=False)
        first = node * RANKS
        entry = Entry(Rank(first), f"node-{node}", f"{first}-{first + RANKS - 1}")
        store.append(f"{ROOM}/watchers", messages.line(entry))
        told = messages.pack(job.digest(node))
        begin.wait()
        store.wait([f"{ROOM}/1/open"])
        store.set(f"{ROOM}/1/d/{first}", told)
        call = messages.unpack(messages.Call, store.get(f"{ROOM}/1/call"))
        if call.over:
            return  # there will be no verdict
        if episode.is_asked(RankSet.parse(call.ranks), entry):
            store.set(f"{ROOM}/1/p/{first}", job.parts(node, RankSet.parse(call.ranks)))
        store.get(f"{ROOM}/1/v")
        with lock:
            came.append(time.monotonic())

    came: list[float] = []
    lock = threading.Lock()
    begin = threading.Barrier(len(numbers) + 1)
    threading.stack_size(256 << 10)
    threads = [threading.Thread(target=be_node, args=(node, begin), daemon=True) for node in numbers]
    for thread in threads:
        thread.start()
    begin.wait()
    ready.put(os.getpid())
    for thread in threads:
        thread.join()
    done.put(max(came, default=time.monotonic()))


def most_memory() -> int:
    """KB of this process at most; getrusage's number begins with that of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def lead(port: int, job: Large, go: Any, done: Any) -> None:
    """The leader in a process of its own, so that its memory is its own."""
    board = StoreBoard(Address("127.0.0.1", port, sys.executable), os.environ, patience=30.0)
    entry = Entry(Rank(0), "node-0", f"0-{RANKS - 1}")
    session = Session(board, ROOM, entry, job.world, Watcher(job, 0))
    while not session.connected:
        session.tick(time.monotonic())
        time.sleep(0.02)
    go.wait()
    before = most_memory()
    began = time.monotonic()
    session.want(Why.STILL)
    end = None
    while end is None:
        end = session.tick(time.monotonic())
        time.sleep(0.02)
    if end.verdict:
        messages.unpack(compact.Compact, end.verdict).whole()
    most = most_memory()
    session.close()
    done.put((began, time.monotonic(), before, most, end.verdict, [str(one) for one in end.absent], end.over))


def follow(port: int, job: Large, node: int, done: Any) -> None:
    """Another node with a real helper."""
    board = StoreBoard(Address("127.0.0.1", port, sys.executable), os.environ, patience=30.0)
    first = node * RANKS
    entry = Entry(Rank(first), f"node-{node}", f"{first}-{first + RANKS - 1}")
    session = Session(board, ROOM, entry, job.world, Watcher(job, node))
    done.put("connecting")
    while True:
        if session.tick(time.monotonic()) is not None:
            done.put(time.monotonic())
            session.close()
            return
        time.sleep(0.02)


def own_client(store: Any, stop: threading.Event, taken: list[float]) -> None:
    """What the job itself does with its store."""
    number = 0
    while not stop.is_set():
        began = time.perf_counter()
        store.set(f"job/{number % 16}", b"x" * 64)
        store.get(f"job/{number % 16}")
        taken.append(time.perf_counter() - began)
        number += 1
        time.sleep(0.005)


@dataclasses.dataclass(frozen=True)
class Measured:
    nodes: int
    kind: str
    seconds: float
    #: of the leader, all of it and what the meeting added, bytes
    memory: int
    added: int
    digest: int
    connections: int
    #: of the job's own client, milliseconds: median and worst, before and during the meeting
    before: tuple[float, float]
    during: tuple[float, float]
    right: bool

    def __str__(self) -> str:
        return (
            f"{self.nodes:5} nodes  {self.kind:30} {self.seconds:6.2f} s  leader {self.memory >> 20:4} MB "
            f"(+{self.added >> 20} MB)  digest {self.digest:4} B  {self.connections} connections  own client "
            f"{self.before[0]:.2f}/{self.before[1]:.1f} -> {self.during[0]:.2f}/{self.during[1]:.1f} ms  "
            f"{'right' if self.right else 'WRONG'}"
        )


def arrived(store: Any, number: int) -> None:
    """Wait until so many watchers are on the list. Raises TimeoutError."""
    deadline = time.monotonic() + CONNECTING
    while len(list(messages.entries(store.get(f"{ROOM}/watchers")))) < number:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{number} nodes have not connected")
        time.sleep(0.2)


def _require(verdict: bytes | None, otherwise: str, processes: Sequence[Any]) -> None:
    if not verdict:
        for process in processes:
            process.kill()
        raise RuntimeError(otherwise)


def measure(hang: Hang, nodes: int, dice: random.Random) -> Measured:
    from torch.distributed import TCPStore

    job = Large(hang, nodes, dice)
    store = TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=300), wait_for_workers=False)
    mine = TCPStore("127.0.0.1", store.port, None, False, timedelta(seconds=300), wait_for_workers=False)
    context = multiprocessing.get_context("spawn")
    ready, done, led, go = context.Queue(), context.Queue(), context.Queue(), context.Event()
    real = min(REAL, nodes)
    numbers = range(real, nodes)
    shares = [share for n in range(PROCESSES) if (share := list(numbers[n::PROCESSES]))]
    started = [
        context.Process(target=follow, args=(store.port, job, node, done), daemon=True) for node in range(1, real)
    ]
    started.append(context.Process(target=lead, args=(store.port, job, go, led), daemon=True))
    for process in started:
        process.start()
    for _ in range(1, real):
        done.get()
    arrived(mine, real)
    crowd = [
        context.Process(target=others, args=(store.port, job, share, ready, done), daemon=True) for share in shares
    ]
    for process in crowd:
        process.start()
    for _ in shares:
        ready.get()
    arrived(mine, nodes)
    started.extend(crowd)
    time.sleep(1.0)
    connections = sum(
        one.status == psutil.CONN_ESTABLISHED and one.laddr.port == store.port
        for one in psutil.Process().net_connections("tcp")
    )
    times: dict[str, tuple[float, float]] = {}
    for name, seconds in (("before", 2.0), ("during", 0.0)):
        stop, taken = threading.Event(), []  # type: ignore[var-annotated]
        client = threading.Thread(target=own_client, args=(mine, stop, taken))
        client.start()
        if name == "during":
            go.set()
            began, _, before, most, verdict, absent, over = led.get()
            _require(verdict, f"{nodes} nodes have no verdict: {over}; {absent[:3]}", started)
            last = max(done.get() for _ in range(len(shares) + real - 1))
        else:
            time.sleep(seconds)
        stop.set()
        client.join()
        times[name] = statistics.median(taken) * 1e3, max(taken) * 1e3
    for process in started:
        process.join()
    first = messages.unpack(compact.Compact, verdict).whole().diagnoses[0]
    right = (first.code, [*first.culprits]) == (hang.code, [job.odd])
    if not right:
        print(first.code, first.culprits, "expected", hang.code, job.odd, absent)
    most_bytes = max(len(messages.pack(job.digest(node))) for node in range(nodes))
    return Measured(
        nodes,
        hang.name,
        last - began,
        most << 10,
        (most - before) << 10,
        most_bytes,
        connections - 1,
        times["before"],
        times["during"],
        right,
    )


#: marks the process that sees HOSTS
NAMED = "_DDPDOCTOR_NAMED"
HOSTS = "127.0.0.1 localhost\n::1 localhost\n::ffff:127.0.0.1 localhost\n"


def begin_again_with_names() -> None:
    """Replace this process by one that knows the names of its own addresses; returns where that is not permitted."""
    KEPT.mkdir(parents=True, exist_ok=True)
    hosts = KEPT / "hosts"
    hosts.write_text(HOSTS, encoding="ascii")
    bind = 'mount --bind "$0" /etc/hosts && exec "$@"'
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", bind, str(hosts)]
    if NAMED not in os.environ and subprocess.run([*unshare, "true"], check=False).returncode == 0:
        module = [sys.executable, "-m", "benchmarks.nodes_scale", *sys.argv[1:]]
        os.execvpe(unshare[0], [*unshare, *module], {**os.environ, NAMED: "1"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[16, 64, 256, 1024, 4096])
    parser.add_argument("--kinds", type=int, default=len(KINDS))
    parser.add_argument("--plot", type=Path, help="write the time against the number of ranks as SVG")
    args = parser.parse_args()
    begin_again_with_names()
    dice = random.Random(20)
    found = hangs(args.kinds)
    times = []
    good = True
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65536)), hard))
    for nodes in args.nodes:
        # all kinds where the promise is made, a few elsewhere
        runs = [measure(hang, nodes, dice) for hang in (found if nodes == 1024 else found[:2])]
        for run in runs:
            print(run, flush=True)
        times.append(statistics.median(run.seconds for run in runs))
        good = good and all(run.right and run.digest <= MOST_BYTES for run in runs)
        if nodes == 1024:
            good = good and all(run.seconds < MOST_SECONDS and run.memory < MOST_MEMORY for run in runs)
    if args.plot:
        sizes = [nodes * RANKS for nodes in args.nodes]
        svg = plot(
            "One verdict on all nodes", "seconds", sizes, [Series("from the call to the last node", tuple(times))]
        )
        args.plot.write_text(svg, encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
