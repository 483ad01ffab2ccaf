"""Pure. Bytes of a probe's page -> the model's Page. Damaged bytes raise ValueError only."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ddpdoctor.collect import noted_stacks
from ddpdoctor.model.collectives import Call, Kind
from ddpdoctor.model.progress import (
    Counters,
    EndedThread,
    Ending,
    EndKind,
    Event,
    EventKind,
    LoaderCount,
    Page,
    Raised,
    ThreadNumbers,
)
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.page import IDENTITY_BYTES, PEEK_BYTES, PENDING_BYTES, RawCall, RawLoader, peek, read_file

__all__ = [
    "IDENTITY_BYTES",
    "PEEK_BYTES",
    "PENDING_BYTES",
    "Identity",
    "decode_identity",
    "decode_lock_files",
    "decode_page",
    "peek",
    "read_file",
]

#: frames of one exception that are kept
MOST_FRAMES = 256


@dataclass(frozen=True, slots=True)
class Identity:
    """The process a page belongs to, identified by (pid, started_ticks); rank is -1 until it is known."""

    pid: int
    started_ticks: int
    rank: Rank
    world_size: int
    #: seconds; None until the default group has a timeout
    group_timeout: float | None
    #: of the default group; "" until it is known
    backend: str


def decode_identity(data: bytes) -> Identity:
    """The head of a page, from its first IDENTITY_BYTES. Raises ValueError for damage."""
    identity = layout.read_identity(data)
    return Identity(
        pid=_integer(identity, "pid"),
        started_ticks=_integer(identity, "started_ticks"),
        rank=Rank(_integer(identity, "rank")),
        world_size=_integer(identity, "world_size"),
        group_timeout=_seconds(identity.get("group_timeout")),
        backend=_text(identity, "backend"),
    )


def decode_lock_files(data: bytes) -> tuple[str, ...]:
    """Paths of the lock files that threads of the process poll for, from a page's first PENDING_BYTES.

    Raises ValueError for damage.
    """
    notes = layout.read_pending(data)
    paths = (note["lock_file"] for note in notes if isinstance(note, dict) and isinstance(note.get("lock_file"), str))
    return tuple(dict.fromkeys(path for path in paths if path.startswith("/")))


def decode_page(data: bytes) -> Page:
    """Decode a copy of a page (see `read_file`).

    `calls` holds for each thread, outermost first: the backward pass if the thread is inside one, its communication
    call, and a wait if that call is asynchronous but waits all the same. Calls that c10d makes inside its own calls are
    not recorded. A rank that is not known yet (inside a rendezvous that assigns it) is -1. Raises ValueError for
    damage.
    """
    raw = layout.read(data)
    identity = raw.identity
    forwards, no_sync, entered, left, steps = raw.counts
    return Page(
        pid=_integer(identity, "pid"),
        started_ticks=_integer(identity, "started_ticks"),
        rank=Rank(_integer(identity, "rank")),
        world_size=_integer(identity, "world_size"),
        torch_version=_text(identity, "torch_version"),
        backend=_text(identity, "backend"),
        heartbeat=raw.heartbeat,
        moved=raw.moved,
        revision=raw.revision,
        counters=Counters(
            loaders=tuple(map(loader_count, raw.loaders)),
            forwards=forwards,
            forwards_no_sync=no_sync,
            backward_entered=entered,
            backward_left=left,
            optimizer_steps=steps,
        ),
        groups=tuple(_group(group) for group in raw.groups),
        calls=tuple(_call(call) for call in raw.calls if call.kind != layout.KINDS[0]),
        events=tuple(_event(event) for event in raw.events),
        events_lost=raw.events_lost,
        texts_lost=raw.texts_lost,
        communicating_threads=raw.communicating,
        thread_numbers=tuple(ThreadNumbers(*pair) for pair in raw.numbers),
        pending=tuple(raised for raised in map(_raised, raw.pending) if raised is not None),
        ending=_ending(raw.ending),
        leaving=_leaving(raw.pending),
        ended_threads=tuple(ended for ended in map(_ended_thread, raw.pending) if ended is not None),
        recorder_socket=_text(identity, "recorder_socket"),
        group_timeout=_seconds(identity.get("group_timeout")),
        own_packages=_texts(identity.get("own_packages")),
        stacks=noted_stacks.decode(raw.stacks, seen=raw.heartbeat),
    )


def loader_count(raw: RawLoader) -> LoaderCount:
    """What the data iterators of one place did."""
    return LoaderCount(Site(*raw.site), raw.delivered, raw.stops, raw.made, raw.length)


def _call(raw: RawCall) -> Call:
    return Call(
        kind=Kind(raw.kind),
        op=raw.op,
        thread=raw.thread,
        site=Site(*raw.site) if raw.site else None,
        since=raw.time,
        group=_group(raw.group) if raw.group else None,
        peer=None if raw.peer is None else Rank(raw.peer),
        root=None if raw.root is None else Rank(raw.root),
        tag=raw.tag,
        numel=raw.numel,
        dtype=raw.dtype,
        asynchronous=raw.asynchronous,
        detail=raw.detail,
        path=_path(raw.path),
    )


def _event(raw: RawCall) -> Event:
    is_call = raw.event == EventKind.CALL.value and raw.kind != layout.KINDS[0]
    return Event(
        index=raw.number,
        kind=EventKind(raw.event),
        time=raw.time,
        thread=raw.thread,
        site=Site(*raw.site) if raw.site else None,
        call=_call(raw) if is_call else None,
        path=_path(raw.path),
        group=None if is_call or raw.group is None else _group(raw.group),
        reduces=raw.reduces,
    )


@functools.lru_cache(maxsize=1024)
def _path(frames: tuple[tuple[str, int, str], ...]) -> tuple[Site, ...]:
    """The same value for the same frames: thousands of events share a few paths."""
    return tuple(Site(*frame) for frame in frames)


def _group(raw: tuple[str, str, tuple[int, ...]]) -> Group:
    name, description, members = raw
    return Group(name, tuple(Rank(member) for member in members), description)


def _leaving(notes: list[Any]) -> Raised | None:
    return next((_raised(note["leaving"]) for note in notes if isinstance(note, dict) and "leaving" in note), None)


def _ended_thread(note: Any) -> EndedThread | None:
    match note:
        case {"thread": str(name), "raised": raised} if (found := _raised(raised)) is not None:
            return EndedThread(name, found, task=note.get("task") is True)
    return None


def _raised(value: Any, *, chained: bool = True) -> Raised | None:
    match value:
        case {"type": str(kind), "message": str(message), "frames": list(frames), "traceback": str(traceback)}:
            sites = (_site(frame) for frame in frames[:MOST_FRAMES])
            return Raised(
                type=kind,
                message=message,
                time=_seconds(value.get("time")) or 0.0,
                frames=tuple(site for site in sites if site is not None),
                traceback=traceback,
                before=_before(value) if chained else (),
            )
    return None


def _before(value: Mapping[str, Any]) -> tuple[Raised, ...]:
    notes = value.get("before")
    found = (_raised(note, chained=False) for note in notes[:MOST_FRAMES]) if isinstance(notes, list) else ()
    return tuple(raised for raised in found if raised is not None)


def _site(value: Any) -> Site | None:
    match value:
        case [str(file), int(line), str(function)]:
            return Site(file, line, function)
    return None


def _ending(value: Mapping[str, Any] | None) -> Ending | None:
    if value is None:
        return None
    try:
        kind = EndKind(value.get("kind"))
    except ValueError:
        return None
    return Ending(kind, _seconds(value.get("time")) or 0.0, _raised(value.get("raised")))


def _integer(values: Mapping[str, Any], key: str) -> int:
    value = values.get(key)
    if not isinstance(value, int):
        raise ValueError(f"page has no {key}")
    return value


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e15 else None


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()
