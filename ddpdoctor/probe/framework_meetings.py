"""Hooks on functions of frameworks in which all ranks meet without torch.distributed.

Collectives that a framework issues through torch are recorded as torch's. These are not: the ranks meet through the
framework's own service, and a rank that does not come blocks the others just the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from . import calls, deferred_patches
from .operations import Spec


class Meeting(NamedTuple):
    """A row of `ddpdoctor.model.framework_meetings`, which says more."""

    op: str
    module: str
    owner: str
    method: str


MEETINGS = (Meeting("ray.train.report", "ray.train.v2._internal.execution.context", "TrainContext", "report"),)


def install() -> None:
    for meeting in MEETINGS:
        deferred_patches.when_imported(meeting.module, partial(_patch, meeting))


def _patch(meeting: Meeting, module: ModuleType) -> None:
    owner: Any = getattr(module, meeting.owner)
    function: Callable[..., Any] = getattr(owner, meeting.method)
    setattr(owner, meeting.method, calls.wrap(function, Spec("all", meeting.op)))
