"""What happens in a process of a watched job at the end of `import torch`, and when it becomes a rank."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from . import (
    call_sites,
    calls,
    exit_hooks,
    framework_meetings,
    functional_collectives,
    groups,
    meeting_place,
    page_lifecycle,
    sharded_forwards,
    state,
    thread_stacks,
    torchdata_loaders,
    training,
    unread_futures,
    worker_environments,
    worker_exits,
)
from .blocking_waits import patch_waits
from .operations import C10D, METHODS, NATIVE, NATIVE_NAMES
from .transparent_hooks import drop_frame, impersonate, replace_in_torch, skip_module_in_dynamo
from .writer import CALL_KIND, Operation


def install(run: str) -> None:
    """Patch torch, which is completely imported by now. The page is made when the process becomes a rank."""
    import torch

    if not torch.distributed.is_available():
        return
    state.run, state.started_in = run, os.getcwd()
    call_sites.set_torch_folder(str(torch.__file__))
    calls.prepare()
    for name, module in tuple(sys.modules.items()):
        if name.startswith(f"{__package__}."):
            skip_module_in_dynamo(module)
    exit_hooks.install(page_lifecycle.create_page_late)
    unread_futures.install()
    worker_exits.install()
    worker_environments.install()
    os.register_at_fork(after_in_child=_forked)
    _patch_c10d()
    patch_waits()
    training.install()
    sharded_forwards.install()
    framework_meetings.install()
    torchdata_loaders.install()
    functional_collectives.install()
    thread_stacks.start_before_page()
    _note_meeting_place()


def _note_meeting_place() -> None:
    """As early as it is known: whoever meets there takes seconds to come, and a rank may fail in its first step."""
    place = page_lifecycle.expected_place({})
    if min(place) >= 0:
        meeting_place.note_before(state.run, os.environ, place)


def _forked() -> None:
    page_lifecycle.detach_fork()
    worker_exits.forget()


def _patch_c10d() -> None:
    """Replace c10d's functions in every module of torch that imported them by name."""
    from torch.distributed import distributed_c10d as c10d

    groups.set_c10d(c10d)
    hooks: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
    for name, spec in C10D.items():
        function = getattr(c10d, name, None)
        if function is not None and name != "new_group":
            hooks.append((function, calls.wrap(function, spec)))
    native = sys.modules["torch.distributed"]
    for name, spec in NATIVE.items():
        function = getattr(native, name, None)
        if function is not None:
            hooks.append((function, calls.wrap(function, spec, NATIVE_NAMES)))
    hooks.append((c10d.new_group, _new_group(c10d.new_group)))
    hooks.append((c10d.init_process_group, _init_process_group(c10d.init_process_group)))
    hooks.append((c10d.destroy_process_group, _destroy(c10d.destroy_process_group)))
    replace_in_torch(hooks)
    for name, parameters in METHODS.items():
        method = getattr(native.ProcessGroup, name, None)
        if method is not None:
            setattr(native.ProcessGroup, name, calls.wrap(method, C10D[name], parameters))


def _default_timeout() -> timedelta | None:
    """The timeout from `watch` for groups without one of their own."""
    try:
        seconds = float(os.environ.get("_DDPDOCTOR_GROUP_TIMEOUT", ""))
    except ValueError:
        return None
    return timedelta(seconds=seconds) if seconds > 0 else None


def _with_timeout(
    names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the default timeout if the call has none; an explicit one is never changed."""
    timeout = _default_timeout()
    place = names.index("timeout") if "timeout" in names else len(args)
    if timeout is None or "timeout" not in names or kwargs.get("timeout") is not None:
        return args, kwargs
    if place < len(args):
        return (args if args[place] is not None else (*args[:place], timeout, *args[place + 1 :])), kwargs
    return args, {**kwargs, "timeout": timeout}


def _init_process_group(function: Callable[..., Any]) -> Callable[..., Any]:
    names = tuple(inspect.signature(function).parameters)

    def read(writer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation:
        del args, kwargs
        world_size = writer.identity["world_size"]
        name = str(getattr(sys.modules["torch.distributed.distributed_c10d"]._world, "group_count", 0))
        members = tuple(range(world_size)) if world_size > 0 else ()
        group = groups.declare(writer, name, "default_pg", members) if members else 0
        return Operation(kind=CALL_KIND["all"], op=writer.text("init_process_group"), group=group)

    recorded = calls.hook_around(function, read)

    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _with_timeout(names, args, kwargs)
        _create_page_before({**dict(zip(names, args, strict=False)), **kwargs})
        try:
            result = recorded(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        _complete_page_after()
        return result

    return impersonate(init_process_group, function)


def _create_page_before(arguments: dict[str, Any]) -> None:
    """Make the page before the rendezvous blocks, so that a rank which waits there is visible."""
    try:
        rank, world_size = page_lifecycle.expected_place(arguments)
        timeout = arguments.get("timeout")
        backend = arguments.get("backend")
        page_lifecycle.create_page(
            rank,
            world_size,
            backend=str(backend) if backend else "",
            group_timeout=timeout.total_seconds() if isinstance(timeout, timedelta) else None,
        )
    except Exception:  # noqa: BLE001 - boundary: without a page the job runs as it would alone
        return


def _complete_page_after() -> None:
    """Complete the page: rank, world size and backend are known now."""
    from torch.distributed import distributed_c10d as c10d

    if state.page is None:
        return
    try:
        backend = c10d.get_backend()
        # "undefined" is torch's name for one backend per device; "cpu:gloo,cuda:nccl" is more specific
        facts: dict[str, Any] = {"backend": c10d.get_backend_config() if backend == "undefined" else str(backend)}
        if state.page.identity.get("group_timeout") is None:
            facts["group_timeout"] = c10d._get_default_timeout(backend).total_seconds()
        state.page.identify(rank=c10d.get_rank(), world_size=c10d.get_world_size(), **facts)
        groups.find(state.page, None)
        store = c10d._get_default_store()
        meeting_place.register(state.run, os.environ, (c10d.get_rank(), c10d.get_world_size()), store)
    except Exception:  # noqa: BLE001 - boundary: as above
        return


def _new_group(function: Callable[..., Any]) -> Callable[..., Any]:
    """A hook for new_group, which all ranks of the default group must call, or only its members with
    `use_local_synchronization`."""
    names = tuple(inspect.signature(function).parameters)

    def read(writer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation | None:
        arguments = {**dict(zip(names, args, strict=False)), **kwargs}
        whole = groups.find(writer, None)
        if whole is None:
            return None
        ranks = arguments.get("ranks")
        chosen = whole.members if ranks is None else tuple(sorted(int(rank) for rank in ranks))
        group = whole.position
        if arguments.get("use_local_synchronization"):
            group = groups.declare(writer, "", "new_group", chosen)
        detail = "" if ranks is None else "ranks " + ",".join(map(str, chosen))
        return Operation(kind=CALL_KIND["all"], op=writer.text("new_group"), group=group, detail=detail.encode())

    recorded = calls.hook_around(function, read)

    def new_group(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _with_timeout(names, args, kwargs)
        try:
            return recorded(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    return impersonate(new_group, function)


def _destroy(function: Callable[..., Any]) -> Callable[..., Any]:
    def destroy_process_group(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            groups.forget()

    return impersonate(destroy_process_group, function)
