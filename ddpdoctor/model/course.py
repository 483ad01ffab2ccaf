"""What was seen of a job while it moved, which no look at it shows afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.model.desync import Desync
from ddpdoctor.model.diagnosis import Diagnosis
from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.waited import Waited


@dataclass(frozen=True, slots=True)
class Course:
    """A job's course until a look at it."""

    #: the shift between ranks that was told, None if none was seen
    desync: Desync | None = None
    #: its diagnosis, of the look that was taken to tell it
    warning: Diagnosis | None = None
    #: the job hangs at this look; else, with a warning, it is the look that was taken for that
    hangs: bool = False
    #: who waited for whom, None if that was not followed
    waited: Waited | None = None
    #: what was told of a job that stood for a rank which was at work, if it has not gone on since
    slow: Diagnosis | None = None
    #: loops over loaders that were seen not to end together
    signs: tuple[EarlySign, ...] = ()
