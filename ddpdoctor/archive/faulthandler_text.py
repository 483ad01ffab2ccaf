"""Pure. Texts that faulthandler writes: after a fatal signal, by `dump_traceback_later`, or on a registered signal."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ddpdoctor.collect import faulthandler
from ddpdoctor.model.stacks import Stacks

_BEGIN = re.compile(r"^(Fatal Python error: .*|Timeout \(\d+:\d\d:\d\d[.\d]*\)!)\s*$")
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+.* \(most recent call first\):")
#: faulthandler's name for a signal -> the exit status that a launcher sees
SIGNALS = {
    "Illegal instruction": -4,
    "Aborted": -6,
    "Bus error": -7,
    "Floating point exception": -8,
    "Segmentation fault": -11,
}
_BODY = re.compile(
    r'^(  File "|  <no Python frame>|  Garbage-collecting\s*$|  \.\.\.|Current thread|Thread 0x|'
    r"Stack \(most recent call first\)|\s*$)"
)


@dataclass(frozen=True, slots=True)
class FaulthandlerDump:
    """One text of faulthandler; `fatal` if a signal or the interpreter's own check ended the process."""

    fatal: bool
    reason: str
    stacks: Stacks
    text: str

    @property
    def status(self) -> int | None:
        """The exit status that results from the signal; None if no signal is named."""
        return next((status for name, status in SIGNALS.items() if name in self.reason), None)


def find(lines: tuple[str, ...]) -> tuple[FaulthandlerDump, ...]:
    """All dumps in a text, in order. If no thread is marked as current, the last one listed is the main thread."""
    found: list[FaulthandlerDump] = []
    block: list[str] = []
    reason = ""

    def close() -> None:
        nonlocal reason
        text = "\n".join(block)
        stacks = faulthandler.parse(text.encode(errors="replace")) if block else None
        if stacks is not None:
            found.append(
                FaulthandlerDump(reason.startswith("Fatal"), reason, _with_main(stacks), f"{reason}\n{text}".strip())
            )
        block.clear()
        reason = ""

    for line in lines:
        if begin := _BEGIN.match(line):
            close()
            reason = begin[1]
        elif _THREAD.match(line) or (block and _BODY.match(line)):
            block.append(line)
        elif block:
            close()
    close()
    return tuple(found)


def _with_main(stacks: Stacks) -> Stacks:
    """faulthandler lists threads from the newest to the oldest, so the last one is the main thread."""
    if stacks.main() is not None or not stacks.threads:
        return stacks
    return replace(stacks, threads=(*stacks.threads[:-1], replace(stacks.threads[-1], name="MainThread")))
