"""How often the kernel has killed a process for memory: a machine's limit, or that of any control group on it."""

from __future__ import annotations

from pathlib import Path


def memory_kills(vmstat: Path = Path("/proc/vmstat")) -> int | None:
    """Kills on this machine since it was booted; None where the kernel does not say (before 4.13)."""
    try:
        lines = vmstat.read_text().splitlines()
    except OSError:
        return None
    found = (line.partition(" ")[2] for line in lines if line.startswith("oom_kill "))
    return next((int(number) for number in found if number.isdigit()), None)
