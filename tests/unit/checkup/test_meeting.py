"""What is heard on the wire of a meeting comes from anybody: it is bounded, and never more than words and numbers."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.checkup import meeting

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = ("host", "number", "torch", "nccl", "reverse_dns", "offset", "uncertainty")


@given(st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_a_node_is_words_and_numbers_whatever_it_says(said: dict[str, object]) -> None:
    peer = meeting._peer(json.loads(json.dumps(said)))
    words = (peer.host, peer.torch, peer.nccl)
    assert all(len(word) <= 100 and (word == "" or word.isprintable()) for word in words)
    assert peer.number is None or 0 <= peer.number < 1 << 20
    for number in (peer.reverse_dns, peer.offset, peer.uncertainty):
        assert number is None or abs(number) < 1e12


@pytest.mark.parametrize("said", [b"", b"[]\n", b"no json\n", b"\xff\xfe\n", b'{"a": 1', b"x" * 5000 + b"\n"])
def test_what_is_no_line_of_json_is_refused(said: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(said)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ValueError, match=r"no line|no object|Expecting value|codec"):
            meeting._hear(ours, 4096)


def test_a_byte_now_and_then_does_not_move_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.02):
            theirs.sendall(b" ")

    thread = threading.Thread(target=drip, daemon=True)
    with ours, theirs:
        ours.settimeout(0.3)
        thread.start()
        with pytest.raises(TimeoutError):
            meeting._hear(ours, 4096)
        stop.set()
        thread.join()
