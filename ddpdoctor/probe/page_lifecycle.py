"""Creates the page of a process that becomes a rank, and detaches it in forked children."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
from typing import Any, TextIO
from urllib.parse import parse_qs, urlsplit

from . import call_sites, exit_hooks, heartbeat, page, recorder_server, state
from .writer import PageWriter, started_ticks

#: prctl(2), linux/prctl.h
PR_SET_PTRACER = 0x59616D61

_fatal: TextIO | None = None


def create_page(rank: int, world_size: int, *, dying: bool = False, **identity: Any) -> None:
    """Create this process's page and what belongs to it, once per process. A rank that is not known yet is -1.

    A process that is `dying` gets the page only. Raises OSError if the run directory has no room for a page.
    """
    import torch

    if state.page is not None:
        state.page.identify(rank=rank, world_size=world_size, **identity)
        return
    stem = os.path.join(state.run, str(os.getpid()))
    facts = {"pid": os.getpid(), "started_ticks": started_ticks(), "torch_version": str(torch.__version__)}
    facts |= {"rank": rank, "world_size": world_size, "backend": "", "recorder_socket": "", "group_timeout": None}
    facts["own_packages"] = sorted(call_sites.own_packages())
    state.page = PageWriter(stem + ".page", facts | identity)
    if dying:
        return
    _allow_tracing()
    _catch_fatal(stem + ".fatal")
    state.page.identify(recorder_socket=recorder_server.serve(stem + ".sock"))
    heartbeat.start(state.page)


def create_page_late() -> None:
    """Create a page for a rank that fails before its rendezvous: RANK is in its environment, but not in its
    parent's."""
    environment = os.environ
    if state.page is not None or not {"RANK", "WORLD_SIZE"} <= environment.keys():
        return
    try:
        with open(f"/proc/{os.getppid()}/environ", "rb") as file:
            parent = file.read().split(b"\0")
        if not any(entry.startswith(b"RANK=") for entry in parent):
            create_page(int(environment["RANK"]), int(environment["WORLD_SIZE"]), dying=True)
    except (OSError, ValueError):
        return


def detach_fork() -> None:
    """In a forked child: the page, the faulthandler file and the server belong to its parent. It may create its own
    later."""
    global _fatal
    if state.page is None:
        return
    state.page = None
    exit_hooks.forget()
    recorder_server.forget()
    if _fatal is not None:
        faulthandler.disable()
        _fatal = None


def expected_place(arguments: dict[str, Any]) -> tuple[int, int]:
    """(rank, world size) that `init_process_group` will assign to this process, if its arguments state them;
    else -1."""
    query: dict[str, list[str]] = {}
    method = arguments.get("init_method")
    if isinstance(method, str):
        query = parse_qs(urlsplit(method).query)
    from_environment = method is None or str(method).startswith("env://")
    place: list[int] = []
    for name, variable in (("rank", "RANK"), ("world_size", "WORLD_SIZE")):
        value: Any = arguments.get(name, -1)
        if value in (-1, None) and name in query:
            value = query[name][0]
        if value in (-1, None) and from_environment:
            value = os.environ.get(variable, -1)
        try:
            place.append(int(value))
        except (TypeError, ValueError):
            place.append(page.NONE)
    return place[0], place[1]


def _allow_tracing() -> None:
    """Let the supervisor's py-spy attach where Yama admits only ancestors as tracers (ptrace_scope 1)."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, int(os.environ.get("_DDPDOCTOR_WATCH_PID", "")), 0, 0, 0)


def _catch_fatal(path: str) -> None:
    """Write Python stacks of a fatal signal to our file, unless the job uses faulthandler itself."""
    global _fatal
    if faulthandler.is_enabled():
        return
    with contextlib.suppress(OSError, RuntimeError):
        # open for the life of the process: faulthandler writes to its descriptor
        _fatal = open(path, "w", encoding="utf-8")  # noqa: SIM115
        faulthandler.enable(file=_fatal, all_threads=True)
