"""Why a process may not be read from outside, and the one thing to do about it: from what /proc shows, without a guess.

The kernel's rules (ptrace(2), "Ptrace access mode checking"): the same user and group; the process's capabilities among
the reader's; the process dumpable; then what a security module says. CAP_SYS_PTRACE is an exception from the first
three, and from Yama's modes 1 and 2.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

#: bit of CAP_SYS_PTRACE (capabilities(7))
SYS_PTRACE = 19
#: linux/capability.h, in the order of the bits
_CAPABILITIES = re.findall(
    r"\w+",
    """
    chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service
    net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin
    sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap mac_override
    mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore
    """,
)
_AS_ROOT = "sudo -E env PATH=$PATH ddpdoctor ..."


class Refusal(Enum):
    """Why stacks cannot be read: the reason as it is said, and what to do."""

    NO_PYSPY = "py-spy is not installed", "pip install py-spy"
    YAMA_3 = (
        "kernel.yama.ptrace_scope is 3: no process may read another until the next boot",
        "kernel.yama.ptrace_scope=1 in /etc/sysctl.d",
    )
    SELINUX = "SELinux's deny_ptrace is on", "sudo setsebool deny_ptrace off"
    SANDBOX = (
        "a security module or a sandbox forbids it, although ddpdoctor has CAP_SYS_PTRACE",
        "run ddpdoctor outside of the sandbox",
    )
    OTHER_USER = "it runs as user {user}", "sudo -u {user} -E env PATH=$PATH ddpdoctor ..."
    CAPABILITIES = (
        "it has a capability that ddpdoctor lacks: {capabilities}",
        "start ddpdoctor with {capabilities}, too",
    )
    YAMA_2 = (
        "kernel.yama.ptrace_scope is 2: it takes CAP_SYS_PTRACE to read a process",
        "sudo sysctl kernel.yama.ptrace_scope=1",
    )
    KUBERNETES = "the container has no CAP_SYS_PTRACE", "securityContext: {{capabilities: {{add: [SYS_PTRACE]}}}}"
    CONTAINER = "the container has no CAP_SYS_PTRACE", "docker run --cap-add=SYS_PTRACE ..."
    NOT_DUMPABLE = "it has forbidden it (PR_SET_DUMPABLE, or a program file that may not be read)", _AS_ROOT
    YAMA_1 = (
        "kernel.yama.ptrace_scope is 1: it may be read only by the `ddpdoctor watch` whose probe it has loaded",
        _AS_ROOT,
    )
    UNKNOWN = "the kernel does not say why", _AS_ROOT

    def reason(self, seen: Circumstances) -> str:
        """The reason as part of a sentence."""
        return _filled(self.value[0], seen)

    def remedy(self, seen: Circumstances) -> str:
        """The one thing to do."""
        return _filled(self.value[1], seen)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides whether a process may be read. None: could not be found out."""

    #: kernel.yama.ptrace_scope; None where the kernel has no Yama
    yama: int | None = None
    #: CAP_SYS_PTRACE is effective in the reader
    may_trace: bool | None = None
    #: "docker", "kubernetes", "" for neither
    container: str = ""
    #: the user of the process, by name or number; "" if it is the reader's
    other_user: str = ""
    #: names of capabilities that the process has and the reader lacks
    more_capabilities: tuple[str, ...] = ()
    #: whether the process has allowed to be read
    dumpable: bool | None = None
    #: SELinux's boolean deny_ptrace is on
    deny_ptrace: bool = False


def why(seen: Circumstances) -> Refusal:
    """The first obstacle: what remains after it is removed is found by the next look."""
    if seen.yama == 3:
        return Refusal.YAMA_3
    if seen.deny_ptrace:
        return Refusal.SELINUX
    if seen.may_trace:
        return Refusal.SANDBOX
    if seen.other_user:
        return Refusal.OTHER_USER
    if seen.more_capabilities:
        return Refusal.CAPABILITIES
    if seen.yama == 2:
        return Refusal.YAMA_2
    return _of_the_process(seen)


def _of_the_process(seen: Circumstances) -> Refusal:
    """The obstacle where user, capabilities and the kernel's settings are none."""
    if seen.container:
        return Refusal.KUBERNETES if seen.container == "kubernetes" else Refusal.CONTAINER
    if seen.dumpable is False:
        return Refusal.NOT_DUMPABLE
    return Refusal.YAMA_1 if seen.yama == 1 else Refusal.UNKNOWN


def _filled(words: str, seen: Circumstances) -> str:
    return words.format(user=seen.other_user, capabilities=", ".join(seen.more_capabilities))


def circumstances(pid: int, root: Path = Path("/")) -> Circumstances:
    """Those of reading a process: what /proc tells everybody."""
    own, other = _status(root / "proc/self/status"), _status(root / f"proc/{pid}/status")
    users = own.get("Uid", "").split()[1:2], other.get("Uid", "").split()[:3]
    alien = next((user for user in users[1] if users[0] and user != users[0][0]), "")
    more = _bits(other.get("CapPrm")) & ~_bits(own.get("CapPrm"))
    return Circumstances(
        yama=yama(root),
        may_trace=may_trace(root / "proc/self/status"),
        container=container(root),
        other_user=_name(alien),
        more_capabilities=tuple(f"cap_{name}" for bit, name in enumerate(_CAPABILITIES) if more >> bit & 1),
        dumpable=_is_dumpable(root / f"proc/{pid}", users[1]),
        deny_ptrace=_read(root / "sys/fs/selinux/booleans/deny_ptrace").startswith("1"),
    )


def yama(root: Path = Path("/")) -> int | None:
    """kernel.yama.ptrace_scope, None where the kernel has no Yama."""
    text = _read(root / "proc/sys/kernel/yama/ptrace_scope").strip()
    return int(text) if text.isdigit() else None


def may_trace(status: Path = Path("/proc/self/status")) -> bool | None:
    """Whether the process has CAP_SYS_PTRACE, None if its status does not say."""
    effective = _status(status).get("CapEff")
    return None if effective is None else bool(_bits(effective) >> SYS_PTRACE & 1)


def container(root: Path = Path("/")) -> str:
    """ "docker", "kubernetes", "" for neither."""
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    return "docker" if any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")) else ""


def _is_dumpable(process: Path, users: list[str]) -> bool | None:
    """proc(5): the files of a process that is not dumpable belong to root; for root's own it cannot be told."""
    if not users or users[0] == "0":
        return None
    try:
        return str(process.stat().st_uid) == users[0]
    except OSError:
        return None


def _status(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^(\w+):\s*(.*)$", _read(path), re.MULTILINE))


def _bits(text: str | None) -> int:
    return int(text, 16) if text and re.fullmatch("[0-9a-f]+", text) else 0


def _name(user: str) -> str:
    try:
        import pwd

        return pwd.getpwuid(int(user)).pw_name if user else ""
    except (KeyError, ImportError, OverflowError):
        return user


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
