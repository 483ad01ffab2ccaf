"""The recorder of a real process group, asked over a real socket."""

from __future__ import annotations

import http.server
import json
import socket
import socketserver
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddpdoctor.collect import flight_recorder
from ddpdoctor.model.evidence import Gap, Source
from tests.unit.collect.conftest import Start, worker

RECORDED = """
import sys, torch, torch.distributed as dist
from torch._C._distributed_c10d import _WorkerServer
server = _WorkerServer(sys.argv[1])
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(3, 5))
dist.broadcast(torch.ones(7), src=0)
print('up', flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, as a unix socket needs."""
    with tempfile.TemporaryDirectory(prefix="ddp-") as made:
        yield Path(made)


def test_what_gloo_records(start: Start, folder: Path) -> None:
    process = start(RECORDED, str(folder / "s"))
    until = time.monotonic() + 20
    while True:
        data = flight_recorder.fetch(worker(process.pid), folder / "s", deadline=20)
        assert isinstance(data, bytes), data
        found = flight_recorder.parse(data)
        first, second = found.entries[:2]
        # the thread that ran an operation retires it after it has woken who waits for it
        if first.retired or time.monotonic() > until:
            break
    assert (first.backend, first.op, first.input_sizes, first.retired) == ("gloo", "all_reduce", ((3, 5),), True)
    assert second.op == "broadcast"
    assert second.seq == first.seq + 1
    assert found.version.startswith("2.")


def answering(folder: Path, answer: bytes | None) -> Path:
    """A socket that gives `answer` to the first who asks; None: nothing, as a server whose threads are all busy."""
    path = folder / "s"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(4096)
            if answer is not None:
                connection.sendall(answer)
            else:
                connection.recv(4096)

    threading.Thread(target=serve, daemon=True).start()
    return path


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "no answer within"),
        (b"", "did not answer"),
        (b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", "status 500"),
        (b"what?\r\n\r\n", "did not answer"),
    ],
)
def test_a_server_that_fails_is_a_gap(answer: bytes | None, said: str, folder: Path) -> None:
    gap = flight_recorder.fetch(worker(1, 4), answering(folder, answer), deadline=0.5)
    assert isinstance(gap, Gap)
    assert (gap.source, gap.rank) == (Source.RECORDER, 4)
    assert said in gap.reason


def test_an_answer_that_breaks_off_is_no_dump(folder: Path) -> None:
    data = flight_recorder.fetch(worker(1), answering(folder, b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"))
    assert isinstance(data, bytes)
    with pytest.raises(ValueError, match=r".+"):
        flight_recorder.parse(data)


def test_no_socket_and_one_that_nobody_serves(folder: Path) -> None:
    absent = flight_recorder.fetch(worker(1), folder / "s")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "s"))
    refused = flight_recorder.fetch(worker(1), folder / "s")
    assert isinstance(absent, Gap)
    assert "does not exist" in absent.reason
    assert isinstance(refused, Gap)
    assert "ConnectionRefusedError" in refused.reason


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"entries": 3}', b"\xff", b"null", b'{"entries": [{"time_created_ns": 1e999}]}']
)
def test_what_is_no_dump(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        flight_recorder.parse(data)


def test_messages_have_a_sequence_of_their_own_and_the_state_of_their_batch() -> None:
    """As NCCL 2.31 under torch 2.11 writes them: a message stays scheduled, the entry after its batch has the state."""
    rows = [
        ("nccl:send 0->1", True, 0, 6, "scheduled", False),
        ("nccl:recv 0<-2", True, 0, 6, "scheduled", False),
        ("nccl:coalesced", False, 0, 6, "completed", True),
        ("nccl:all_reduce", False, 5, 6, "started", False),
        ("nccl:recv 0<-1", True, 5, 7, "scheduled", False),
        ("nccl:coalesced", False, 5, 7, "scheduled", False),
        ("nccl:recv 0<-2", True, 5, 8, "scheduled", False),
    ]
    names = ("profiling_name", "is_p2p", "collective_seq_id", "p2p_seq_id", "state", "retired")
    entries = [{**dict(zip(names, row, strict=True)), "process_group": ["3", ""]} for row in rows]
    config = {"3": {"name": "3", "desc": "", "ranks": "[4, 8, 9]"}}
    read = flight_recorder.parse(json.dumps({"version": "2.10", "entries": entries, "pg_config": config}).encode())
    found = [(one.op, one.p2p, one.seq, one.peer, one.retired) for one in read.entries]
    assert found == [
        ("send", True, 6, 8, True),
        ("recv", True, 6, 9, True),
        ("all_reduce", False, 5, None, False),
        ("recv", True, 7, 8, False),
        ("recv", True, 8, 9, False),
    ]
    assert [one.op for one in read.outstanding()] == ["all_reduce"]
    assert [(one.op, one.seq) for one in read.unanswered()] == [("recv", 7)]


def _dump(*entries: tuple[str, str, int]) -> bytes:
    """A recorder's JSON: (backend:op, group, sequence number)."""
    recorded = [
        {"profiling_name": name, "process_group": [group, ""], "collective_seq_id": seq, "state": "scheduled"}
        for name, group, seq in entries
    ]
    return json.dumps({"version": "2.10", "entries": recorded}).encode()


def _serving(folder: Path, answers: dict[str, bytes]) -> Path:
    """torch's server as far as we ask it: endpoints with their JSON, 404 for any other."""
    path = folder / "s"

    class Handlers(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = answers.get(self.path.removeprefix("/handler/"))
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

        def address_string(self) -> str:
            return "unix"

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

    server = Server(str(path), Handlers)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return path


GLOO = _dump(("gloo:barrier", "0", 3), ("gloo:all_gather", "objects", 1))
NCCL = _dump(("nccl:all_reduce", "0", 3), ("nccl:all_reduce", "0", 4))


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        # without NCCL there is one recorder
        ({"fr_trace_json": GLOO}, [("barrier", 3), ("all_gather", 1)]),
        # NCCL has one of its own, and gloo's is empty where nothing runs on it
        ({"fr_trace_json": _dump(), "dump_nccl_trace_json": NCCL}, [("all_reduce", 3), ("all_reduce", 4)]),
        # one group on both: two operations would have one number
        (
            {"fr_trace_json": GLOO, "dump_nccl_trace_json": NCCL},
            [("all_reduce", 3), ("all_reduce", 4), ("all_gather", 1)],
        ),
        # the default of torch 2.15 is asked for by its name
        ({"fr_trace_json": _dump(), "fr_trace_json?backend=nccl": NCCL}, [("all_reduce", 3), ("all_reduce", 4)]),
        # an older torch gives gloo's again, whatever it is asked
        ({"fr_trace_json": _dump(), "fr_trace_json?backend=nccl": GLOO}, []),
        # torch 2.5 has NCCL's only
        ({"dump_nccl_trace_json": NCCL}, [("all_reduce", 3), ("all_reduce", 4)]),
        # what NCCL's recorder damages does not take gloo's away
        ({"fr_trace_json": GLOO, "dump_nccl_trace_json": b"{"}, [("barrier", 3), ("all_gather", 1)]),
    ],
)
def test_each_backend_has_its_own_recorder(
    answers: dict[str, bytes], found: list[tuple[str, int]], folder: Path
) -> None:
    data = flight_recorder.fetch(worker(1), _serving(folder, answers), deadline=20)
    assert isinstance(data, bytes), data
    assert [(entry.op, entry.seq) for entry in flight_recorder.parse(data).entries] == found


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({}, "this torch does not record gloo's operations"),
        (
            {"dump_nccl_trace_json": b'{"version": "2.4"}'},
            "this torch does not record gloo's operations, and NCCL recorded none",
        ),
    ],
)
def test_a_torch_that_does_not_record_gloo_is_a_gap(answers: dict[str, bytes], said: str, folder: Path) -> None:
    gap = flight_recorder.fetch(worker(1, 2), _serving(folder, answers), deadline=20)
    assert isinstance(gap, Gap)
    assert (gap.source, gap.rank, gap.reason) == (Source.RECORDER, 2, said)
