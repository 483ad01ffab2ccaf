"""Pure. Python tracebacks in a log, as the interpreter prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.model.progress import Raised
from ddpdoctor.model.stacks import Site
from ddpdoctor.probe.redact import redacted

__all__ = ["Raised", "Traceback", "find", "find_all"]

MOST_LINES = 400
MOST_FRAMES = 256
_MOST_MESSAGE = 4000

_FIRST = re.compile(r"^(\s*)Traceback \(most recent call last\):\s*$")
_FRAME = re.compile(r'^\s+File "(.*)", line (\d{1,9})(?:, in (.+))?$')
_LAST = re.compile(r"^([A-Za-z_][\w.]{0,200}?)(?:: (.*)|:)?$")
_CHAIN = re.compile(
    r"^(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):\s*$"
)
#: frames of launchers: their exceptions say that a worker failed, not why
_LAUNCHERS = ("torch/distributed/run.py", "torch/distributed/launcher/", "accelerate/commands/", "deepspeed/launcher/")
#: `-- Process 1 terminated with the following error:`, torch.multiprocessing.spawn
_SPAWNED = re.compile(r"^-- Process (\d{1,5}) terminated with the following error:")


@dataclass(frozen=True, slots=True)
class Traceback:
    """An exception, and the process it belongs to if the text states it."""

    raised: Raised
    #: index of the process that torch.multiprocessing.spawn started
    local_rank: int | None = None


def find(lines: tuple[str, ...]) -> Iterator[Raised]:
    """The exceptions of `find_all`."""
    return (found.raised for found in find_all(lines))


def find_all(lines: tuple[str, ...]) -> Iterator[Traceback]:
    """Every uncaught exception, in order; of a chain the last one, with the text of the whole chain.

    `time` is the line number, since a log without time stamps shows only the order.
    """
    at, spawned = 0, None
    while at < len(lines):
        if process := _SPAWNED.match(lines[at]):
            spawned = int(process[1])
        if not _FIRST.match(lines[at]):
            at += 1
            continue
        raised, after = _chain(lines, at)
        if raised is not None and not _of_a_launcher(raised):
            yield Traceback(raised, spawned)
            spawned = None
        at = max(after, at + 1)


def _chain(lines: tuple[str, ...], start: int) -> tuple[Raised | None, int]:
    found, at = _one(lines, start)
    while True:
        ahead = at
        while ahead < len(lines) and not lines[ahead].strip() and ahead < at + 3:
            ahead += 1
        if not (ahead < len(lines) and _CHAIN.match(lines[ahead].strip())):
            return found, at
        ahead += 1
        while ahead < len(lines) and not lines[ahead].strip() and ahead < at + 6:
            ahead += 1
        if not (ahead < len(lines) and _FIRST.match(lines[ahead])):
            return found, at
        following, at = _one(lines, ahead)
        found = _joined(found, following, lines[start : min(at, start + MOST_LINES)]) or found


def _joined(first: Raised | None, last: Raised | None, lines: tuple[str, ...]) -> Raised | None:
    if last is None:
        return first
    time = first.time if first else last.time
    return Raised(last.type, last.message, time, last.frames, redacted("\n".join(lines)))


def _one(lines: tuple[str, ...], start: int) -> tuple[Raised | None, int]:
    """One traceback from its first line on, and the index of the line after it."""
    opening = _FIRST.match(lines[start])
    indent = opening[1] if opening else ""
    frames: list[Site] = []
    for number in range(start + 1, min(len(lines), start + MOST_LINES)):
        line = lines[number].removeprefix(indent)
        if frame := _FRAME.match(line):
            if len(frames) < MOST_FRAMES:
                frames.append(Site(frame[1], int(frame[2]), frame[3] or "<module>"))
        elif line[:1].isspace() or not line.strip():
            continue
        elif last := _LAST.match(line):
            message, end = _message(lines, number, indent, last[2] or "")
            text = redacted("\n".join(lines[start:end]))
            return Raised(last[1], redacted(message), float(start), tuple(reversed(frames)), text), end
        else:
            return None, number
    return None, min(len(lines), start + MOST_LINES)


def _message(lines: tuple[str, ...], last: int, indent: str, first: str) -> tuple[str, int]:
    """The message, which may continue over several lines until something else begins; a log does not always show
    where."""
    parts, end = [first], last + 1
    while end < len(lines) and end < last + 12 and sum(map(len, parts)) < _MOST_MESSAGE:
        line = lines[end].removeprefix(indent)
        if (
            not line.strip()
            or _FIRST.match(lines[end])
            or _CHAIN.match(line)
            or line.startswith(("[", "=", "W", "E", "I"))
        ):
            break
        parts.append(line)
        end += 1
    return "\n".join(parts)[:_MOST_MESSAGE], end


def _of_a_launcher(raised: Raised) -> bool:
    if raised.type.rpartition(".")[2] in ("ChildFailedError", "CalledProcessError", "ProcessRaisedException"):
        return True
    return any(part in frame.file for frame in raised.frames for part in _LAUNCHERS)
