"""The sockets of a process: their addresses, and which socket of this machine is at the other end."""

from __future__ import annotations

import contextlib
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

_STATES = {"01": "ESTABLISHED", "02": "SYN_SENT", "06": "TIME_WAIT", "08": "CLOSE_WAIT", "0A": "LISTEN"}

#: linux/netlink.h, linux/sock_diag.h, linux/unix_diag.h
_NETLINK_SOCK_DIAG, _BY_FAMILY, _REQUEST, _SHOW_PEER, _PEER = 4, 20, 1, 4, 2
_HEADER, _QUERY, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBHIIIII"), struct.Struct("=HHI")
#: size of unix_diag_msg without its attributes
_ANSWER_BYTES = 16
_WHATEVER = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Socket:
    """One socket of a network namespace; `protocol` is tcp, udp or unix, addresses are in their usual notation."""

    inode: str
    protocol: str
    local: str
    remote: str
    state: str

    @property
    def target(self) -> str:
        """`tcp 10.0.0.1:443 ESTABLISHED`, `udp 10.0.0.1:53`, `unix /run/x.sock`."""
        connected = self.remote and not self.remote.endswith(":0")
        return " ".join(filter(None, (self.protocol, self.remote if connected else self.local, self.state)))


def of_process(folder: Path) -> dict[str, Socket]:
    """inode -> socket, for the network namespace of the process with this /proc folder."""
    found: dict[str, Socket] = {}
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for fields in _rows(folder / "net" / table):
            if len(fields) > 9:
                protocol = table[:3]
                state = _STATES.get(fields[3], fields[3]) if protocol == "tcp" else ""
                found[fields[9]] = Socket(fields[9], protocol, address(fields[1]), address(fields[2]), state)
    for fields in _rows(folder / "net" / "unix"):
        if len(fields) > 6:
            found[fields[6]] = Socket(fields[6], "unix", fields[7] if len(fields) > 7 else "", "", "")
    return found


def other_end(folder: Path, inode: str) -> str:
    """The inode of the socket at the other end, "" if that is not on this machine."""
    known = of_process(folder)
    mine = known.get(inode)
    if mine is None:
        return ""
    if mine.protocol == "unix":
        return _unix_peer(int(inode)) if inode.isdigit() else ""
    wanted = mine.protocol, mine.remote, mine.local
    ends = (one for one in known.values() if (one.protocol, one.local, one.remote) == wanted)
    found = next((end.inode for end in ends if end.inode not in ("0", inode)), "")
    return found or _listener(known, mine)


def _listener(known: dict[str, Socket], mine: Socket) -> str:
    """The listening socket of a connection that the server has not accepted or answered yet."""
    host, _, port = mine.remote.rpartition(":")
    every = {f"{one}:{port}" for one in (host, "0.0.0.0", "[" + ":".join(["0000"] * 8) + "]")}
    local = host == mine.local.rpartition(":")[0] or host.startswith("127.")
    ends = (one for one in known.values() if local and one.state == "LISTEN" and one.local in every)
    return next((end.inode for end in ends), "")


def address(text: str) -> str:
    """`0100007F:1F90` -> `127.0.0.1:8080` (little-endian words; proc(5))."""
    host, _, port = text.partition(":")
    words = [bytes.fromhex(host[i : i + 8])[::-1] for i in range(0, len(host), 8)]
    if len(words) == 1:
        return f"{'.'.join(str(b) for b in words[0])}:{int(port, 16)}"
    if words[:2] == [bytes(4), bytes(4)] and words[2] == bytes.fromhex("0000ffff"):
        return f"{'.'.join(str(b) for b in words[3])}:{int(port, 16)}"
    joined = b"".join(words).hex()
    return f"[{':'.join(joined[i : i + 4] for i in range(0, 32, 4))}]:{int(port, 16)}"


def _rows(table: Path) -> list[list[str]]:
    with contextlib.suppress(OSError, ValueError):
        return [line.split() for line in table.read_text(errors="replace").splitlines()[1:]]
    return []


def _unix_peer(inode: int) -> str:
    """The peer's inode from the kernel's socket diagnosis (sock_diag(7)); /proc/net/unix does not show connections."""
    query = _QUERY.pack(socket.AF_UNIX, 0, 0, _WHATEVER, inode, _SHOW_PEER, _WHATEVER, _WHATEVER)
    message = _HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, _REQUEST, 1, 0) + query
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(0.5)
            kernel.send(message)
            answer = kernel.recv(4096)
    except OSError:
        return ""
    return _peer_in(answer)


def _peer_in(answer: bytes) -> str:
    if len(answer) < _HEADER.size or _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return ""
    at = _HEADER.size + _ANSWER_BYTES
    while at + _ATTRIBUTE.size <= len(answer):
        length, kind, value = _ATTRIBUTE.unpack_from(answer, at)
        if kind == _PEER:
            return str(value)
        if length < 4:
            break
        at += (length + 3) & ~3
    return ""
