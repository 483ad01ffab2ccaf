"""Pure. One file's bytes -> its fragments, or a Gap that states why there are none. Damaged bytes never raise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ddpdoctor.archive import text_reader, tracebacks
from ddpdoctor.archive.fragment import Format, Fragment, RankSource
from ddpdoctor.collect import flight_recorder, procfs, pyspy
from ddpdoctor.collect.page import decode_page
from ddpdoctor.model import json_text
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.stacks import StackSource

_SOURCES = {
    Format.PAGE: Source.PAGES,
    Format.RECORDER_JSON: Source.RECORDER,
    Format.RECORDER_PICKLE: Source.RECORDER,
    Format.PYSPY_JSON: Source.STACKS,
    Format.PROCESS: Source.PROCESSES,
}


def read(data: bytes, name: str, kind: Format) -> tuple[Fragment, ...] | Gap:
    """The fragments of a file of this format."""
    if kind is Format.TEXT:
        return text_reader.read(data, name)
    if kind not in _READERS:
        return Gap(_SOURCES.get(kind, Source.FILES), None, f"{name}: a {kind.value} is not read here")
    try:
        return _READERS[kind](data, name)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        reason = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        return Gap(_SOURCES.get(kind, Source.FILES), None, f"{name}: damaged {kind.value}: {reason}")


def _page(data: bytes, name: str) -> tuple[Fragment, ...]:
    page = decode_page(data)
    known = page.rank >= 0
    return (
        Fragment(
            name,
            Format.PAGE,
            page,
            page.rank if known else None,
            RankSource.CONTENT if known else None,
            page.pid,
            page.world_size if page.world_size > 0 else None,
        ),
    )


def _recorder(data: bytes, name: str) -> tuple[Fragment, ...]:
    return (Fragment(name, Format.RECORDER_JSON, flight_recorder.parse(data)),)


def _stacks(data: bytes, name: str) -> tuple[Fragment, ...]:
    stacks = pyspy.parse(data, StackSource.PYSPY)
    first = json_text.parsed(data)[:1]
    pid = first[0].get("pid") if first and isinstance(first[0], dict) else None
    if not stacks.threads:
        raise ValueError("it holds no thread")
    return (Fragment(name, Format.PYSPY_JSON, stacks, pid=pid if isinstance(pid, int) else None),)


def _process(data: bytes, name: str) -> tuple[Fragment, ...]:
    return (Fragment(name, Format.PROCESS, procfs.parse(data)),)


def _error_file(data: bytes, name: str) -> tuple[Fragment, ...]:
    """TORCHELASTIC_ERROR_FILE: the exception of a worker that runs under `@record`."""
    loaded: Any = json_text.parsed(data)
    message = loaded.get("message") if isinstance(loaded, dict) else None
    extra = message.get("extraInfo") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(extra, dict):
        raise ValueError("it holds no exception")
    callstack = str(extra.get("py_callstack", ""))
    raised = next(tracebacks.find(tuple(callstack.splitlines())), None)
    if raised is None:
        kind, _, said = str(message.get("message", "")).partition(": ")
        raised = Raised(kind or "an exception", said, 0.0, (), callstack)
    stamp = str(extra.get("timestamp", ""))
    when = float(stamp) if stamp.isdigit() and len(stamp) < 12 else None
    return (Fragment(name, Format.ERROR_FILE, replace(raised, time=0.0), time=when),)


_READERS: Mapping[Format, Callable[[bytes, str], tuple[Fragment, ...]]] = {
    Format.PAGE: _page,
    Format.RECORDER_JSON: _recorder,
    Format.PYSPY_JSON: _stacks,
    Format.PROCESS: _process,
    Format.ERROR_FILE: _error_file,
}
