"""Pure. How a process ended, where no launcher says it: its own page and faulthandler's text do."""

from __future__ import annotations

from ddpdoctor.archive.fragment import FatalSignal, Fragment
from ddpdoctor.model.evidence import Timing
from ddpdoctor.model.processes import Exit, ProcessState
from ddpdoctor.model.progress import EndKind, Page

#: what the interpreter leaves with after an exception, and after none
_STATUS = {EndKind.EXCEPTION: 1, EndKind.NORMAL: 0}


def infer_exit(fragments: tuple[Fragment, ...], timing: Timing, looks: int) -> Exit | None:
    """The end of a process that the last of so many looks did not find any more; None where nothing says how.

    Without any look at processes a fatal signal alone is believed: a page that tells of an end may be of a process
    that is still on its way out.
    """
    fatal = next(
        (p.payload for p in fragments if isinstance(p.payload, FatalSignal) and p.payload.status is not None), None
    )
    page = next((p.payload for p in reversed(fragments) if isinstance(p.payload, Page)), None)
    pid = page.pid if page else next((p.pid for p in fragments if p.pid), 0)
    if fatal is not None and fatal.status is not None:
        return Exit(pid or 0, fatal.status, timing.collected)
    seen = sum(isinstance(fragment.payload, ProcessState) for fragment in fragments)
    if page is None or page.ending is None or looks == 0 or seen >= looks or page.ending.kind not in _STATUS:
        return None
    return Exit(page.pid, _STATUS[page.ending.kind], page.ending.time)
