"""What may keep the data of a collective from arriving: what to try, in order, and what need not be tried."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.diagnose.facts import Facts

#: number of a group's first operations, in which its connections are made
_FIRST = 2

_PEER = (
    "NCCL_P2P_DISABLE=1; if that helps, peer-to-peer access between the GPUs is broken: see `nvidia-smi topo -m`, "
    "turn ACS off (`lspci -vvv | grep ACSCtl`) and the IOMMU off or to `iommu=pt` (/proc/cmdline), update the driver"
)
_SHARED = "NCCL_SHM_DISABLE=1; if that helps, give the container a larger /dev/shm"
_DEVICE = (
    "`dmesg | grep -i xid` and `nvidia-smi -q` on every machine: a GPU with an Xid or ECC error, or one at 100 % that "
    "draws little power, has dropped out; drain that machine"
)
_FABRIC = (
    "NCCL_IB_DISABLE=1; if that helps, InfiniBand or RoCE is broken: NCCL_IB_GID_INDEX, `ibstat`, the ports' error "
    "counters, `NET/IB` lines with NCCL_DEBUG=INFO"
)
_NCCL_INTERFACE = "NCCL_SOCKET_IFNAME=<interface>: one on which the machines reach each other, without a firewall"
_LIBRARY = (
    "NCCL's own features, one at a time: NCCL_NVLS_ENABLE=0, NCCL_CUMEM_ENABLE=0, NCCL_PROTO=Simple, NCCL_ALGO=Ring, "
    "CUDA_LAUNCH_BLOCKING unset; if one helps, it is a bug: use another NCCL version"
)
_GLOO_INTERFACE = "GLOO_SOCKET_IFNAME=<interface>: the one on which the machines reach each other"
_NETWORK = "`ss -ti` and iperf between the machines: lost packets, a firewall, an MTU that differs"
_LOCAL = "`ss -ti` for the ranks' sockets: bytes that stay in a queue, a packet filter or a container's network"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to try, most likely first, and what the evidence excludes."""

    steps: tuple[str, ...]
    excluded: tuple[str, ...]

    def numbered(self) -> str:
        """One text: (1) ...; (2) ..."""
        return "; ".join(f"({number}) {step}" for number, step in enumerate(self.steps, 1))


def advise(backends: frozenset[str], *, nodes: bool | None, seq: int | None) -> Advice:
    """What to try. `nodes`: the group spans several machines, None if unknown; `seq`: its operation's number.

    Sources: NVIDIA/nccl issues 257, 426, 631, 719, 750, 968, 1063, and pytorch/pytorch issue 1637.
    """
    without_gpus = gloo_only(backends)
    excluded = ["GPUs, and access between them: the group runs on gloo"] if without_gpus else []
    if nodes is False:
        excluded.append("InfiniBand, RoCE and the network between machines: all ranks are on one machine")
    if without_gpus:
        return Advice((_LOCAL,) if nodes is False else (_GLOO_INTERFACE, _NETWORK), tuple(excluded))
    starts = seq is not None and seq <= _FIRST
    if seq is not None and not starts:
        excluded.append(
            f"an interface that reaches no other machine: the group has completed {seq - 1} operations before"
        )
    inside = (_PEER, _SHARED)
    between = () if nodes is False else (*((_NCCL_INTERFACE,) if starts or seq is None else ()), _FABRIC)
    steps = (*between, *inside, _LIBRARY, _DEVICE) if starts or seq is None else (_DEVICE, *between, *inside, _LIBRARY)
    return Advice(steps, tuple(excluded))


def gloo_only(backends: frozenset[str]) -> bool:
    """Whether every rank's default group is known and uses only gloo."""
    return bool(backends) and all("gloo" in backend and "nccl" not in backend for backend in backends)


def backends(facts: Facts) -> frozenset[str]:
    """The backends of the ranks' default groups, as far as their pages tell."""
    return frozenset(rank.page.backend for rank in facts.evidence.ranks if rank.page and rank.page.backend)


def several_nodes(facts: Facts) -> bool | None:
    """Whether the ranks run on several machines; None if that is not known."""
    if facts.evidence.unseen():
        return None
    places = [(rank.rank, rank.worker.local_rank) for rank in facts.evidence.ranks]
    if any(local is None for _, local in places):
        return None
    return any(rank != local for rank, local in places)
