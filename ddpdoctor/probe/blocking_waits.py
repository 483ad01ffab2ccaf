"""Hooks on blocking methods of torch's C++ objects: handles of asynchronous operations, stores, DDP's reducer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import call_sites, calls, exit_hooks, state
from .transparent_hooks import drop_frame, impersonate
from .writer import CALL_KIND, Operation, PageWriter, Slot

STORE = CALL_KIND["store"]
#: bytes of a store key that are kept
LONGEST_DETAIL = 64


def patch_waits() -> None:
    """Patch the classes in place, so that types and object identities stay as the job sees them."""
    from torch._C import _distributed_c10d as c10d

    work: Any = c10d.Work
    work.wait = _work_wait(work.wait)
    # only concrete stores: a Python subclass of Store is called back from C++ under the same names
    for name in ("TCPStore", "FileStore", "HashStore", "PrefixStore"):
        store = getattr(c10d, name, None)
        if store is not None:
            store.get = calls.hook_around(store.get, _read_key("get"), event=False)
            store.wait = calls.hook_around(store.wait, _read_key("wait"), event=False)


def _work_wait(function: Callable[..., Any]) -> Callable[..., Any]:
    is_tracing = calls.is_tracing()

    # pybind11 asks for a Python override of a C++ method by name, and takes `self` to be the first local of a calling
    # frame of that name; without both a Work implemented in Python would call itself endlessly
    def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return function(self, *args, **kwargs)
        page = state.page
        slot = None if page is None else calls.outermost(page, sys._getframe(1))
        if page is None or slot is None:
            try:
                return function(self, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
        depth = slot.depth
        try:
            _begin(page, slot, self, sys._getframe(1))
            return function(self, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            exit_hooks.note_first_seen(error)
            raise
        finally:
            calls.close(page, slot, depth)

    return calls.register_hook(impersonate(wait, function))


def _begin(page: PageWriter, slot: Slot, handle: Any, frame: Any) -> None:
    try:
        slot.inside = True
        page.enter(slot, calls.awaited_operation(page, handle), call_sites.place(page, frame))
        if sys.exc_info()[1] is not None:
            exit_hooks.note_handled(page)
    except state.FAULTS:
        return


def _read_key(name: str) -> calls.Read:
    def read(page: PageWriter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation:
        key = args[1] if len(args) > 1 else kwargs.get("key", kwargs.get("keys", ""))
        text = key if isinstance(key, str) else ",".join(map(str, key))
        return Operation(kind=STORE, op=page.text(name), detail=text.encode()[:LONGEST_DETAIL])

    return read
