"""The probe in the launcher: records how workers ended, and briefly delays the launcher's reaction to the first
failure.

torchrun signals the survivors within 100 ms of the first failure. The supervisor is not the workers' parent and reads
their exits from the file written here; while it examines the survivors, the launcher waits (at most GRACE seconds). It
waits for survivors on other nodes, too: one of the launchers has the store in which their watchers meet.

A launcher that is told to end signals its ranks, too. It waits for a look first only if the supervisor has noted that
the job stands still, so that a healthy job ends as without us.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import state
from .transparent_hooks import drop_frame, impersonate

#: seconds: the longest wait, and the interval at which the end of the examination is checked
GRACE, PAUSE = 2.0, 0.01
#: files of the run: the supervisor's note that the job stands still; this process's that it will end its workers
STANDING, ENDING = "standing", "ending"

#: pids of worker processes that this process started and that have not ended
_living: set[int] = set()
#: whether the job has workers on other nodes, as the environment of ours says
_elsewhere = False
#: whether a failure was waited for since the last worker started: the exits that follow are caused by the launcher
_waited = False
#: pid -> the last signal that this process sent to that worker
_told: dict[int, int] = {}


def install() -> None:
    """Watch the exits of this process's children. Children that are not workers are left alone."""
    from multiprocessing.process import BaseProcess

    process: Any = subprocess.Popen
    process.__init__ = _started(process.__init__)
    process._handle_exitstatus = _exited(process._handle_exitstatus)
    base: Any = BaseProcess
    base.start = _process_started(base.start)
    os.kill, os.killpg = _signals(os.kill), _signals(os.killpg)


def forget() -> None:
    """In a forked child: the workers belong to its parent."""
    _living.clear()
    _told.clear()


def _started(function: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - stands in for that method
        try:
            function(self, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        environment = kwargs.get("env")
        if _is_rank(environment):
            _begun(self.pid, elsewhere=_has_others(environment))

    return impersonate(__init__, function)


def _begun(pid: int, *, elsewhere: bool = False) -> None:
    global _waited, _elsewhere
    _waited, _elsewhere = False, elsewhere
    _living.add(pid)


def _is_rank(environment: object) -> bool:
    """Whether a process is a worker: a launcher gives its workers a RANK that is not its own."""
    if not isinstance(environment, Mapping) or "RANK" not in environment:
        return False
    return bool("RANK" not in os.environ or environment["RANK"] != os.environ["RANK"])


def _has_others(environment: Any) -> bool:
    """Whether a worker's environment says that other launchers have workers of the same job."""
    sizes = [environment.get(name) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE")]
    local, world = (int(size) if isinstance(size, str) and size.isdigit() else 0 for size in sizes)
    return 0 < local < world


def _exited(function: Callable[..., None]) -> Callable[..., None]:
    def _handle_exitstatus(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            function(self, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        if self.pid in _living and self.returncode is not None:
            _living.discard(self.pid)
            # a launcher notices a failure by polling; if it waits, it has ended the worker itself
            _record_exit(self.pid, self.returncode, noticed=sys._getframe(1).f_code.co_name == "_internal_poll")

    return impersonate(_handle_exitstatus, function)


def _process_started(function: Callable[..., None]) -> Callable[..., None]:
    """multiprocessing: any child may become a rank (mp.spawn sets RANK inside it), but hardly a rank's child."""

    def start(self: Any) -> None:
        try:
            function(self)
        except BaseException as error:
            drop_frame(error)
            raise
        if state.page is None and isinstance(self.pid, int):
            _watch_polls(type(self._popen))
            _begun(self.pid)

    return impersonate(start, function)


def _watch_polls(start_method: Any) -> None:
    """Patch the class behind a start method (fork, spawn, forkserver) once."""
    for owner in start_method.__mro__:
        poll = vars(owner).get("poll")
        if poll is not None:
            if not hasattr(poll, "__wrapped__"):
                owner.poll = _polled(poll)
            return


def _polled(function: Callable[..., Any]) -> Callable[..., Any]:
    def poll(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            status = function(self, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        if status is not None and self.pid in _living:
            _living.discard(self.pid)
            _record_exit(self.pid, status, noticed=True)
        return status

    return impersonate(poll, function)


def _record_exit(pid: int, status: int, *, noticed: bool) -> None:
    """Record an exit; at the first failure, while other workers are alive here or may be elsewhere, wait until the
    supervisor has examined them."""
    global _waited
    exit_ = {"pid": pid, "status": status, "time": time.monotonic(), "told": _told.pop(pid, None)}
    line = json.dumps(exit_) + "\n"
    try:
        descriptor = os.open(
            os.path.join(state.run, "exits"), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
    except OSError:
        return
    try:
        os.write(descriptor, line.encode())
    except OSError:
        return
    finally:
        os.close(descriptor)
    if noticed and status != 0 and (_living or _elsewhere) and not _waited:
        _waited = True
        _wait_for_look(os.path.join(state.run, f"looked.{pid}"))


def _signals(function: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """os.kill and os.killpg, with which Popen and multiprocessing signal, too."""

    def kill(pid: int, number: int, /) -> None:
        if pid in _living and number:
            _before_end(pid, number)
        try:
            function(pid, number)
        except BaseException as error:
            drop_frame(error)
            raise

    return impersonate(kill, function)


def _before_end(pid: int, number: int) -> None:
    """Note that this process signals a worker; where no worker has failed and the job stands still, it is looked at."""
    global _waited
    _told[pid] = int(number)
    if not _waited and os.path.exists(os.path.join(state.run, STANDING)):
        _waited = True
        try:
            os.close(os.open(os.path.join(state.run, ENDING), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError:
            return
        _wait_for_look(os.path.join(state.run, f"looked.{os.getpid()}"))


def _wait_for_look(path: str) -> None:
    """Without `except` around the waiting: a signal handler of the launcher ends it by raising."""
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and not os.path.exists(path) and _watched():
        time.sleep(PAUSE)


def _watched() -> bool:
    try:
        os.kill(int(os.environ.get("_DDPDOCTOR_WATCH_PID", "")), 0)
    except ValueError:
        return False
    except OSError as error:
        return isinstance(error, PermissionError)
    return True
