"""Settings of one `watch`, read from the command line once."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class OnHang(Enum):
    REPORT = "report"
    STOP = "stop"
    #: of a warning only
    IGNORE = "ignore"
    COMMAND = "command"


class Live(Enum):
    """What is shown of a running job on a terminal."""

    LINE = "line"
    TABLE = "table"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class WatchConfig:
    command: tuple[str, ...]
    #: seconds without progress that count as a stall; None: learned from the run
    stall_after: float | None = None
    on_hang: OnHang = OnHang.REPORT
    #: the program to run with the report's path, for OnHang.COMMAND
    hang_command: str = ""
    #: what follows the warning that ranks have shifted against each other
    on_desync: OnHang = OnHang.REPORT
    desync_command: str = ""
    #: seconds; default timeout of process groups without a timeout of their own
    group_timeout: float | None = None
    #: where the report is written as JSON and as HTML; `-` is standard output
    json: Path | None = None
    html: Path | None = None
    bundle: Path | None = None
    #: a folder that all nodes of the job see, in which their watchers meet; None: in the job's own store
    shared: Path | None = None
    #: rewritten every few seconds in the Prometheus text format
    metrics_file: Path | None = None
    #: gets a JSON message for each incident and each recovery; "" none
    notify_url: str = ""
    native: bool = False
    #: read the locals that `collect.frame_locals` names: numbers of torch's frames, counters of the job's loops
    read_locals: bool = True
    probe: bool = True
    quiet: bool = False
    live: Live = Live.LINE
    #: inspects the job like SIGQUIT
    dump_signal: signal.Signals = signal.SIGQUIT
    #: lint the script before the job starts
    lint: bool = False
