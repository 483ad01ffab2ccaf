"""The facts that checks judge: this machine, and the command that is to be launched. None: could not be found out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


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
    #: this node's number, if the command or Slurm says it
    node: int | None = None


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
class Peer:
    """A node that came to the meeting of `check --meet`."""

    host: str
    number: int | None = None
    #: versions, "" if it has none
    torch: str = ""
    nccl: str = ""
    #: seconds that its resolver took for the name of its own address
    reverse_dns: float | None = None
    #: how far its clock is ahead of the host's, within +-uncertainty; in seconds
    offset: float | None = None
    uncertainty: float | None = None


@dataclass(frozen=True, slots=True)
class Meeting:
    """Which nodes came to the launch's endpoint."""

    expected: int
    #: how long they were waited for
    seconds: float
    address: str
    port: int
    #: this node is the one that the endpoint names
    hosted: bool = False
    #: who came, this node included
    peers: tuple[Peer, ...] = ()
    #: why this node could not meet the others, "" if it could
    error: str = ""

    def failed(self, error: str, own: Peer) -> Meeting:
        """The meeting to which only this node came."""
        return replace(self, peers=(own,), error=error)

    def with_peers(self, peers: Iterable[Peer]) -> Meeting:
        """The meeting of these, by number, and by name without one."""
        ordered = sorted(peers, key=lambda peer: (peer.number is None, peer.number or 0, peer.host))
        return replace(self, peers=tuple(ordered))


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
    #: of all nodes, if it was asked for
    meeting: Meeting | None = None

    @property
    def is_master(self) -> bool:
        """The address at which the ranks meet is this node's, or not known to be another's."""
        ours = {address for addresses in self.interfaces.values() for address in addresses}
        if self.master is None or not self.master.answers or ours & set(self.master.answers):
            return True
        return self.own_name is not None and self.own_name.asked == self.master.asked
