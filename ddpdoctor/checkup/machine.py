"""The facts that checks judge: this machine, and the command that is to be launched. None: could not be found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that was tried: whether it worked, and what it said."""

    worked: bool
    said: str


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes of a file system."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """A question to the resolver."""

    asked: str
    #: addresses or names; empty if there is no answer
    answers: tuple[str, ...]
    seconds: float
    #: "" if it answered
    error: str = ""


@dataclass(frozen=True, slots=True)
class Clock:
    """What the kernel says of the clock: whether something keeps it in step, and its largest error in seconds."""

    synchronised: bool
    error: float


@dataclass(frozen=True, slots=True)
class Launch:
    """What a launch command says of the job; None or "" for what it leaves open."""

    command: tuple[str, ...] = ()
    ranks_per_node: int | None = None
    nodes: int = 1
    master_address: str = ""
    master_port: int | None = None


@dataclass(frozen=True, slots=True)
class Torch:
    """torch in the command's environment, from its files; it is not imported."""

    version: str
    #: "12.8", "" for a build without CUDA, None if its files do not say
    cuda: str | None = None
    #: installed version of NCCL's package, and the one that torch asks for
    nccl: str = ""
    nccl_wanted: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    environ: Mapping[str, str] = field(default_factory=dict)
    launch: Launch = Launch()
    #: `py-spy --version`, and `py-spy dump` of a process that allows it
    pyspy: Attempt | None = None
    attach: Attempt | None = None
    #: kernel.yama.ptrace_scope; None where the kernel has no Yama
    yama: int | None = None
    #: CAP_SYS_PTRACE is effective
    may_trace: bool | None = None
    #: "docker", "kubernetes", "" for neither
    container: str = ""
    shared_memory: Space | None = None
    #: soft and hard limit of open files
    open_files: tuple[int, int] | None = None
    #: bytes that can be had before memory is full, the container's limit included
    memory: int | None = None
    torch: Torch | None = None
    #: version of the NVIDIA driver, "" without one
    driver: str = ""
    #: NVIDIA GPUs that are visible
    gpus: int = 0
    #: an I/O memory management unit is on
    iommu: bool | None = None
    clock: Clock | None = None
    #: names of network interfaces -> their addresses
    interfaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: TCP ports on which somebody listens here
    listening: frozenset[int] | None = None
    #: MASTER_ADDR -> addresses; the node's own name -> addresses; its own address -> names
    master: Resolution | None = None
    own_name: Resolution | None = None
    own_address: Resolution | None = None
    #: where evidence is kept, why it cannot be written to ("" if it can), and its space
    state_folder: str = ""
    state_error: str = ""
    state_space: Space | None = None
