"""Decoding any bytes as a page gives a Page or raises ValueError, and nothing else."""

from __future__ import annotations

import functools
import json
import tempfile
import zlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.collect.page import decode_page, peek
from ddpdoctor.model.progress import Page
from ddpdoctor.probe import page as layout
from ddpdoctor.probe import string_table
from ddpdoctor.probe.writer import CALL_KIND, EVENT_KIND, Operation, PageWriter

#: the regions where a changed byte can mean most
REGIONS = (
    0,
    layout.IDENTITY,
    layout.ENDING,
    layout.PENDING,
    layout.LOADERS,
    layout.THREADS,
    layout.EVENTS,
    layout.TEXTS,
    layout.STACKS,
)


@functools.cache
def sound_page() -> bytes:
    """A page with something in every region."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "1.page"
        identity = {"pid": 1, "started_ticks": 2, "rank": 0, "world_size": 2, "torch_version": "2", "backend": "gloo"}
        writer = PageWriter(str(path), dict(identity))
        site = writer.text(("/job/a.py", 3, "f"))
        group = writer.text(("0", "default_pg", ((0, 2), (5, 1))))
        operation = Operation(CALL_KIND["all"], writer.text("all_reduce"), group, 4, writer.text("float32"))
        writer.mark(writer.loader(site) + 1, EVENT_KIND["next"], 1, (site, 0))
        writer.enter(writer.slot(), operation, (site, 0), EVENT_KIND["call"])
        raised = {"type": "E", "message": "m", "time": 1.0, "frames": [["/job/a.py", 3, "f"]], "traceback": "t"}
        writer.pending([raised])
        thread = {"id": 1, "name": "MainThread", "frames": [[0, 3, "f"]], "switches": 1}
        writer.stacks({"time": 2.0, "revision": 1, "files": ["/job/a.py"], "threads": [thread]})
        writer.ending({"kind": "exception", "time": 2.0, "raised": raised})
        return path.read_bytes()


def decode(data: bytes) -> Page | None:
    try:
        return decode_page(data)
    except ValueError:
        return None


def test_the_sound_page_is_read() -> None:
    page = decode(sound_page())
    assert page is not None
    assert page.calls
    assert page.events
    assert page.ending


@given(st.binary(max_size=4096))
def test_any_bytes(data: bytes) -> None:
    assert decode(data) is None
    try:
        peek(data)
    except ValueError:
        return


@given(st.integers(0, layout.SIZE - 1))
def test_cut_off(length: int) -> None:
    assert decode(sound_page()[:length]) is None


@given(
    st.lists(
        st.tuples(st.sampled_from(REGIONS), st.integers(0, 600), st.binary(min_size=1, max_size=16)),
        min_size=1,
        max_size=8,
    )
)
def test_changed_bytes(changes: list[tuple[int, int, bytes]]) -> None:
    data = bytearray(sound_page())
    for region, offset, replacement in changes:
        at = min(region + offset, len(data) - len(replacement))
        data[at : at + len(replacement)] = replacement
    page = decode(bytes(data))
    if page is not None:
        assert len(page.events) <= layout.EVENT_ROWS
        assert len(page.calls) <= layout.THREAD_ROWS * layout.CALL_DEPTH
        assert sum(len(group.members) for group in page.groups) <= string_table.MOST_MEMBERS


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_a_group_cannot_fill_the_memory(first: int, count: int) -> None:
    data = bytearray(sound_page())
    log = [f'["g","d",[[{first},{count}]]]'.encode(), f'["h","d",[[0,{string_table.MOST_MEMBERS}],[0,9]]]'.encode()]
    at = layout.TEXTS
    for text in log:
        string_table.HEAD.pack_into(data, at, len(text))
        at += string_table.HEAD.size
        data[at : at + len(text)] = text
        at += len(text)
    page = decode(bytes(data))
    assert page is None or sum(len(group.members) for group in page.groups) <= string_table.MOST_MEMBERS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("pid", "rank", "type", "message", "frames", "traceback", "time", "kind", "raised"))
            | st.text(),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from((layout.IDENTITY, layout.PENDING, layout.ENDING)), JSON)
def test_notes_of_any_shape_that_are_whole(offset: int, value: object) -> None:
    data = bytearray(sound_page())
    payload = json.dumps(value).encode()
    layout.NOTE.pack_into(data, offset, len(payload), zlib.crc32(payload))
    data[offset + layout.NOTE.size : offset + layout.NOTE.size + len(payload)] = payload
    decode(bytes(data))
