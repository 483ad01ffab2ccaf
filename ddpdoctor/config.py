"""Settings of one `watch`, read from the command line once."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class OnHang(Enum):
    REPORT = "report"
    STOP = "stop"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class WatchConfig:
    command: tuple[str, ...]
    #: seconds without progress that count as a stall; None: learned from the run
    stall_after: float | None = None
    on_hang: OnHang = OnHang.REPORT
    #: the program to run with the report's path, for OnHang.COMMAND
    hang_command: str = ""
    #: seconds; default timeout of process groups without a timeout of their own
    group_timeout: float | None = None
    #: where the report is written as JSON and as HTML; `-` is standard output
    json: Path | None = None
    html: Path | None = None
    bundle: Path | None = None
    native: bool = False
    probe: bool = True
    quiet: bool = False
    #: inspects the job like SIGQUIT
    dump_signal: signal.Signals = signal.SIGQUIT
    #: lint the script before the job starts
    lint: bool = False
