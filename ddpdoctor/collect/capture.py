"""Raw evidence: the same bytes are used for a live diagnosis and stored in a bundle for its replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ddpdoctor.model.course import Course
from ddpdoctor.model.evidence import Gap, SourceFile, Timing
from ddpdoctor.model.processes import Exit, JobEnd
from ddpdoctor.model.ranks import Worker


class PartKind(Enum):
    """The kind of a raw part of a process; the value is the file's suffix in a bundle."""

    PAGE = "page"
    RECORDER = "recorder.json"
    STACKS = "stacks.json"
    PROCESS = "process.json"
    FATAL = "fatal.txt"


@dataclass(frozen=True, slots=True)
class Part:
    """The unmodified bytes of one source of one process."""

    kind: PartKind
    pid: int
    data: bytes
    #: for STACKS: how they were taken (a StackSource's value), "" for other parts
    source: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """A rank that no longer runs, with its exit status as long as the kernel keeps it: until its parent asks for it."""

    pid: int
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of every process of the job. `time` is CLOCK_MONOTONIC seconds."""

    time: float
    workers: tuple[Worker, ...]
    parts: tuple[Part, ...]
    gaps: tuple[Gap, ...] = ()
    gone: tuple[Gone, ...] = ()


@dataclass(frozen=True, slots=True)
class Capture:
    """One or two samples, oldest first, and what belongs to the run as a whole."""

    samples: tuple[Sample, ...]
    timing: Timing
    exits: tuple[Exit, ...] = ()
    code: Mapping[str, SourceFile] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    #: processes on this machine that the kernel has killed for memory since the job was started
    memory_kills: int = 0
    #: how the watched command ended, None while it runs
    end: JobEnd | None = None
    #: pid -> kernel ids of the only threads of it that are looked at: its others go on, and so are no part of what
    #: these are in. Empty for a look at whole processes
    threads: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    #: what was seen of the job while it moved
    course: Course = field(default_factory=Course)
