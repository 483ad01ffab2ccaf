"""Pure. How a process ended when no launcher reported it: inferred from its page or from faulthandler's text."""

from __future__ import annotations

from ddpdoctor.archive.fragment import FatalSignal, Fragment
from ddpdoctor.model.evidence import Timing
from ddpdoctor.model.processes import Exit, ProcessState
from ddpdoctor.model.progress import Page


def infer_exit(fragments: tuple[Fragment, ...], timing: Timing, looks: int) -> Exit | None:
    """The exit of a process that was missing from the last of `looks` samples; None if nothing says how it ended.

    Without any samples only a fatal signal is accepted: a page that records an end may belong to a process that is
    still shutting down.
    """
    fatal = next(
        (p.payload for p in fragments if isinstance(p.payload, FatalSignal) and p.payload.status is not None), None
    )
    page = next((p.payload for p in reversed(fragments) if isinstance(p.payload, Page)), None)
    pid = page.pid if page else next((p.pid for p in fragments if p.pid), 0)
    if fatal is not None and fatal.status is not None:
        return Exit(pid or 0, fatal.status, timing.collected)
    seen = sum(isinstance(fragment.payload, ProcessState) for fragment in fragments)
    if page is None or page.ending is None or looks == 0 or seen >= looks or page.ending.kind.status is None:
        return None
    return Exit(page.pid, page.ending.kind.status, page.ending.time)
