"""Wrappers that put c10d's calls in flight on the page and into its history."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from . import endings, groups, late, sites, state
from . import page as layout
from .operations import Spec
from .unseen import drop_frame, stand_in
from .writer import CALL_KIND, EVENT_KIND, Operation, PageWriter, Slot

CALL = EVENT_KIND["call"]
WAIT = CALL_KIND["wait"]
#: handles whose `wait` has not been called; the oldest are dropped first
MOST_HANDLES = 4096

_is_tracing: Callable[[], bool] = bool
_plain_tensors: tuple[type, ...] = ()
_handles: dict[int, tuple[weakref.ref[Any], Operation]] = {}
_dtypes: dict[Any, str] = {}

Read = Callable[[PageWriter, tuple[Any, ...], dict[str, Any]], Operation | None]


def prepare() -> None:
    """Learn what the wrappers need of torch."""
    global _is_tracing, _plain_tensors
    import torch

    _is_tracing = torch.compiler.is_dynamo_compiling
    _plain_tensors = (torch.Tensor, torch.nn.Parameter)


def is_tracing() -> Callable[[], bool]:
    """torch's own function object: dynamo knows it by identity and folds it to True."""
    return _is_tracing


def wrap(function: Callable[..., Any], spec: Spec, names: tuple[str, ...] = ()) -> Callable[..., Any]:
    """A stand-in for a c10d function; `names` are its parameters where it has no signature."""
    return around(function, reader(spec, names or tuple(inspect.signature(function).parameters)))


def around(function: Callable[..., Any], read: Read, *, event: bool = True) -> Callable[..., Any]:
    """A stand-in for `function`, whose calls `read` describes; None from it means: record nothing."""
    is_tracing = _is_tracing

    def hook(*args: Any, **kwargs: Any) -> Any:
        if is_tracing() or state.page is None:
            return function(*args, **kwargs)
        page = state.page
        slot = page.slot()
        depth, inside = slot.depth, slot.inside
        operation = None
        try:
            operation = _begin(page, slot, read, args, kwargs, event)
            result = function(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            endings.seen(error)
            raise
        finally:
            slot.inside = inside
            if slot.depth != depth:
                page.leave(slot, depth)
        if operation is not None and operation.flags & layout.ASYNCHRONOUS and result is not None:
            _remember(result, operation)
        return result

    return stand_in(hook, function)


def _begin(
    page: PageWriter, slot: Slot, read: Read, args: tuple[Any, ...], kwargs: dict[str, Any], event: bool
) -> Operation | None:
    try:
        late.look()
        operation = read(page, args, kwargs)
        if operation is None:
            return None
        site = sites.position(page, sys._getframe(2))
        page.enter(slot, operation, site)
        if not slot.inside:
            slot.inside = True
            endings.handled(page)
            if event:
                page.communicated(slot)
                page.event(CALL, slot.thread, site, operation)
        return operation
    except state.FAULTS:
        return None


def reader(spec: Spec, names: tuple[str, ...]) -> Read:
    """A function that reads one call's arguments by the positions that its signature gives them."""
    places = {name: place for place, name in enumerate(names)}
    kind = CALL_KIND[spec.kind]
    group_name = next((name for name in ("group", "parent_pg", "process_group") if name in places), "")

    def read(page: PageWriter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation | None:
        def argument(name: str) -> Any:
            place = places.get(name)
            if place is None:
                return None
            return args[place] if place < len(args) else kwargs.get(name)

        group = groups.find(page, argument(group_name) if group_name else None)
        if group is None:
            return None
        numel, dtype = measure(page, argument(spec.tensors)) if spec.tensors else (layout.NONE, 0)
        other = _global_rank(group.members, argument(spec.other[0]), argument(spec.other[1])) if spec.other else None
        if other is None:
            other = layout.NONE if spec.kind == "recv" or not spec.other else 0
        tag = argument("tag") if "tag" in places else None
        flags = layout.ASYNCHRONOUS if spec.asynchronous or argument("async_op") else 0
        is_pair = spec.kind in ("send", "recv")
        return Operation(
            kind=kind,
            op=page.text(spec.op),
            group=group.position,
            numel=numel,
            dtype=dtype,
            peer=other if is_pair else layout.NONE,
            root=layout.NONE if is_pair else other,
            tag=tag or 0,
            flags=flags | (layout.TAGGED if "tag" in places else 0),
        )

    return read


def measure(page: PageWriter, tensors: Any) -> tuple[int, int]:
    """(elements, text position of the dtype) of a tensor or a list of them; subclasses are not touched."""
    found: Iterable[Any] = tensors if isinstance(tensors, (list, tuple)) else (tensors,)
    numel, dtype = 0, None
    for tensor in found:
        if type(tensor) not in _plain_tensors:
            return layout.NONE, 0
        numel += tensor.numel()
        dtype = tensor.dtype
    if dtype is None:
        return layout.NONE, 0
    name = _dtypes.get(dtype)
    if name is None:
        name = _dtypes[dtype] = str(dtype).removeprefix("torch.")
    return numel, page.text(name)


def waiting(page: PageWriter, handle: Any) -> Operation:
    """The operation that a handle's `wait` completes, as far as it is known."""
    entry = _handles.get(id(handle))
    if entry is None or entry[0]() is not handle:
        return Operation(kind=WAIT, op=page.text("wait"))
    return entry[1]._replace(kind=WAIT)


def _remember(handle: Any, operation: Operation) -> None:
    try:
        key = id(handle)
        while len(_handles) >= MOST_HANDLES:
            _handles.pop(next(iter(_handles)), None)
        # Bound here, not looked up: when the interpreter ends, module globals go before the last handles do.
        _handles[key] = (weakref.ref(handle, _forgetter(_handles, key)), operation)
    except (TypeError, RuntimeError, StopIteration, KeyError):
        return


def _forgetter(handles: dict[int, Any], key: int) -> Callable[[object], None]:
    def forget(_: object) -> None:
        handles.pop(key, None)

    return forget


def _global_rank(members: tuple[int, ...], rank: Any, group_rank: Any) -> int | None:
    if isinstance(rank, int):
        return rank
    if isinstance(group_rank, int) and 0 <= group_rank < len(members):
        return members[group_rank]
    return None
