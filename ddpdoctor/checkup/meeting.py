"""Impure. `check --meet`: the nodes of a launch meet at its own endpoint, before the job does.

The node that the endpoint names listens on the job's port for as long as the meeting lasts. It speaks first: a node
that connects sends nothing until it has read the greeting, so that a store of a job that listens there hears nothing.
What is said is JSON in lines of bounded length. The host asks each node for its clock several times and keeps the
answer with the shortest round trip (Cristian's method); half of that is the uncertainty.
"""

from __future__ import annotations

import json
import selectors
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle
from typing import cast

from ddpdoctor.checkup.machine import Machine, Meeting, Peer
from ddpdoctor.model import json_text

_SCHEMA = "ddpdoctor.meeting/1"
#: bytes of a node's line, and of the host's list of all nodes
_LINE, _LIST = 4096, 4 << 20
#: characters of a host name or version
_WORD = 100
#: seconds: until a greeting or card is there, between two attempts, and for the list after the last arrival
_ANSWER, _AGAIN, _GRACE = 5.0, 0.2, 5.0
_ROUNDS = 9
#: more is not waited for, whatever a host says
_LONGEST = 3600.0


class _Stranger(Exception):
    """Something answers that is no meeting, or no node."""


def meet(machine: Machine, seconds: float) -> Meeting:
    """The meeting of all nodes that `machine.launch` names, within `seconds`; what went wrong is in it."""
    launch = machine.launch
    assert launch.master_port is not None
    own = Peer(
        machine.own_name.asked if machine.own_name else "?",
        number=launch.node,
        torch=machine.torch.version if machine.torch else "",
        nccl=machine.torch.nccl if machine.torch else "",
        reverse_dns=machine.own_address.seconds if machine.own_address else None,
    )
    blank = Meeting(launch.nodes, seconds, launch.master_address, launch.master_port, hosted=machine.is_master)
    # what the resolver said within its deadline: it is not asked again
    answers = machine.master.answers if machine.master else ()
    try:
        if not answers:
            return blank.failed(f"{launch.master_address} cannot be resolved", own)
        if not machine.is_master:
            return _join(answers, blank, own)
        if machine.listening and launch.master_port in machine.listening:
            return blank.failed("something listens there already, a job's store or a leftover; it was left alone", own)
        ours = {address for addresses in machine.interfaces.values() for address in addresses}
        return _Host(blank, own).gather(next((one for one in answers if one in ours), answers[0]))
    except _Stranger as error:
        return blank.failed(str(error), own)
    except OSError as error:
        return blank.failed(error.strerror or str(error), own)
    except Exception as error:  # noqa: BLE001 - boundary: the other checks are not lost with the meeting
        return blank.failed(f"the meeting itself failed: {type(error).__name__}: {error}", own)


class _Host:
    """Listens, greets, measures, and tells all what it has heard."""

    def __init__(self, meeting: Meeting, own: Peer) -> None:
        self._meeting = meeting
        self._end = time.monotonic() + meeting.seconds
        self._peers = [Peer(own.host, own.number, own.torch, own.nccl, own.reverse_dns, offset=0.0, uncertainty=0.0)]
        self._changed = threading.Lock()
        self._done = threading.Event()

    def gather(self, address: str) -> Meeting:
        found = socket.getaddrinfo(
            address, self._meeting.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST | socket.AI_PASSIVE
        )
        family, kind, _, _, place = found[0]
        visits: list[threading.Thread] = []
        with socket.socket(family, kind) as listening, selectors.DefaultSelector() as selector:
            # the job's own store binds this port next; a port in use stays in use
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(self._meeting.expected)
            selector.register(listening, selectors.EVENT_READ)
            while len(self._peers) < self._meeting.expected and (left := self._end - time.monotonic()) > 0:
                # a short wait: an arrival is complete in a visit's own time
                if selector.select(min(left, 0.1)) and len(visits) < 4 * self._meeting.expected:
                    visit = threading.Thread(target=self._visit, args=(listening.accept()[0],), daemon=True)
                    visits.append(visit)
                    visit.start()
        with self._changed:
            self._done.set()
        for visit in visits:
            visit.join(_ANSWER)
        return self._meeting.with_peers(self._peers)

    def _visit(self, visitor: socket.socket) -> None:
        with suppress(OSError, _Stranger, ValueError), visitor:
            _quick(visitor, _ANSWER)
            left = max(self._end - time.monotonic(), 0)
            _say(visitor, {"schema": _SCHEMA, "seconds": left})
            card = _peer(_hear(visitor, _LINE))
            offset, uncertainty = _clock(visitor)
            card = Peer(card.host, card.number, card.torch, card.nccl, card.reverse_dns, offset, uncertainty)
            with self._changed:
                if self._done.is_set() or len(self._peers) >= self._meeting.expected:
                    return
                self._peers.append(card)
            self._done.wait(left + _GRACE)
            _say(visitor, {"nodes": [_card(peer) for peer in self._peers]})
            # who closes first keeps the port busy for a minute: the visitor does
            visitor.recv(1)


def _clock(visitor: socket.socket) -> tuple[float, float]:
    """How far the visitor's clock is ahead of ours, and the uncertainty; in seconds."""
    best = (0.0, float("inf"))
    for _ in range(_ROUNDS):
        wall, begun = time.time(), time.perf_counter()
        _say(visitor, {"ask": "time"})
        said = _number(_hear(visitor, _LINE).get("time"))
        half = (time.perf_counter() - begun) / 2
        if said is None:
            raise _Stranger("a node tells no time")
        best = min(best, (said - wall - half, half), key=lambda one: one[1])
    return best


def _join(addresses: Sequence[str], blank: Meeting, own: Peer) -> Meeting:
    end = time.monotonic() + blank.seconds
    reason = "nobody answered"
    for address in cycle(addresses):
        if (left := end - time.monotonic()) <= 0:
            break
        try:
            host = socket.create_connection((address, blank.port), timeout=min(left, _ANSWER))
        except OSError as error:
            reason = error.strerror or str(error)
            time.sleep(min(_AGAIN, left))
            continue
        with host:
            return _attend(host, blank, own)
    return blank.failed(reason, own)


def _attend(host: socket.socket, blank: Meeting, own: Peer) -> Meeting:
    _quick(host, _ANSWER)
    with _as_stranger("what answers there is no check, but a job's store or a leftover; nothing was sent to it"):
        greeting = _hear(host, _LINE)
        if greeting.get("schema") != _SCHEMA:
            raise ValueError
    _say(host, _card(own))
    with _as_stranger("the meeting broke off"):
        for _ in range(_ROUNDS):
            _hear(host, _LINE)
            _say(host, {"time": time.time()})
        host.settimeout(min(_number(greeting.get("seconds")) or 0, _LONGEST) + 2 * _GRACE)
        nodes = _hear(host, _LIST).get("nodes")
        if not isinstance(nodes, list) or len(nodes) > blank.expected:
            raise ValueError
        return blank.with_peers([_peer(node) for node in nodes])


@contextmanager
def _as_stranger(said: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise _Stranger(said) from error


def _quick(connection: socket.socket, seconds: float) -> None:
    connection.settimeout(seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _say(connection: socket.socket, said: object) -> None:
    connection.sendall(json.dumps(said).encode() + b"\n")


def _hear(connection: socket.socket, most: int) -> Mapping[str, object]:
    """One line. Raises ValueError for what is none, or longer than `most` bytes, OSError for what does not come."""
    end = time.monotonic() + (connection.gettimeout() or 0)
    heard = bytearray()
    while not heard.endswith(b"\n"):
        # the deadline is the line's, and one who sends a byte a second does not move it
        if time.monotonic() > end:
            raise TimeoutError("no answer")
        part = connection.recv(min(most, 1 << 16))
        heard += part
        if not part or len(heard) > most:
            raise ValueError("no line")
    said = json_text.parsed(heard)
    if not isinstance(said, dict):
        raise ValueError("no object")
    return cast("dict[str, object]", said)


def _card(peer: Peer) -> dict[str, object]:
    return {
        "host": peer.host,
        "number": peer.number,
        "torch": peer.torch,
        "nccl": peer.nccl,
        "reverse_dns": peer.reverse_dns,
        "offset": peer.offset,
        "uncertainty": peer.uncertainty,
    }


def _peer(said: object) -> Peer:
    if not isinstance(said, dict):
        raise ValueError("no node")
    number = said.get("number")
    return Peer(
        _word(said.get("host")) or "?",
        number if type(number) is int and 0 <= number < 1 << 20 else None,
        _word(said.get("torch")),
        _word(said.get("nccl")),
        _number(said.get("reverse_dns")),
        _number(said.get("offset")),
        _number(said.get("uncertainty")),
    )


def _word(said: object) -> str:
    return "".join(c for c in said[:_WORD] if c.isprintable()) if isinstance(said, str) else ""


def _number(said: object) -> float | None:
    return float(said) if isinstance(said, int | float) and abs(said) < 1e12 else None
