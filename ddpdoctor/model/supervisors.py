"""Frameworks whose own processes end the ranks, and how such an end looks.

An end by native code leaves no exception, no `sys.exit` and no `os._exit`, all of which the probe notes.
"""

from __future__ import annotations

from ddpdoctor.model.named_tuple import NamedTuple


class Supervisor(NamedTuple):
    """A framework that ends its ranks when the work is done, or when another of them has failed."""

    #: folder below site-packages; a frame in it led to the rank's training function
    folder: str
    #: exit status of a rank that it has ended
    status: int


SUPERVISORS = (
    # `ray.kill`, and the raylet of a job that has ended: CoreWorker's QuickExit calls `_Exit(1)` (seen in Ray 2.60)
    Supervisor("ray/train/", 1),
)


def ended(status: int | None, files: list[str]) -> bool:
    """Whether a rank with these files on the way to its training function was ended in this way."""
    return any(one.status == status and any(f"/{one.folder}" in file for file in files) for one in SUPERVISORS)
