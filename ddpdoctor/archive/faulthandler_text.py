"""Pure. faulthandler's texts: of a fatal signal, of `dump_traceback_later`, of a signal that asks for the stacks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ddpdoctor.collect import faulthandler
from ddpdoctor.model.stacks import Stacks

_BEGIN = re.compile(r"^(Fatal Python error: .*|Timeout \(\d+:\d\d:\d\d[.\d]*\)!)\s*$")
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+.* \(most recent call first\):")
#: what faulthandler calls a signal -> how a launcher sees the process end
SIGNALS = {
    "Illegal instruction": -4,
    "Aborted": -6,
    "Bus error": -7,
    "Floating point exception": -8,
    "Segmentation fault": -11,
}
_BODY = re.compile(
    r'^(  File "|  <no Python frame>|  \.\.\.|Current thread|Thread 0x|Stack \(most recent call first\)|\s*$)'
)


@dataclass(frozen=True, slots=True)
class FaulthandlerDump:
    """One text of faulthandler; `fatal` where a signal or the interpreter's own check ended the process."""

    fatal: bool
    reason: str
    stacks: Stacks
    text: str

    @property
    def status(self) -> int | None:
        """The exit status that the signal gives; None where no signal is named."""
        return next((status for name, status in SIGNALS.items() if name in self.reason), None)


def find(lines: tuple[str, ...]) -> tuple[FaulthandlerDump, ...]:
    """All dumps in a text, in order. Where no thread is marked as current, the last listed one is the main thread."""
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
    """faulthandler lists the threads from the newest to the oldest, which is the main thread."""
    if stacks.main() is not None or not stacks.threads:
        return stacks
    return replace(stacks, threads=(*stacks.threads[:-1], replace(stacks.threads[-1], name="MainThread")))
