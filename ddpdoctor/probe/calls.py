"""Hooks that record c10d's calls on the page, in flight and in the history."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, TypeVar

from . import call_sites, deferred_patches, exit_hooks, groups, state
from . import page as layout
from .operations import Spec
from .transparent_hooks import drop_frame, impersonate
from .writer import CALL_EVENT, CALL_KIND, Operation, PageWriter, Slot

WAIT = CALL_KIND["wait"]
#: handles whose `wait` has not been called; the oldest are dropped first
MOST_HANDLES = 4096

_is_tracing: Callable[[], bool] = bool
_plain_tensors: tuple[type, ...] = ()
_handles: dict[int, tuple[weakref.ref[Any], Operation]] = {}
_dtypes: dict[Any, str] = {}
#: ids of the code objects of hooks that record calls in flight; these are never freed
_entering: set[int] = set()
Hook = TypeVar("Hook", bound=Callable[..., Any])

Read = Callable[[PageWriter, tuple[Any, ...], dict[str, Any]], Operation | None]


def prepare() -> None:
    """Look up what the hooks need of torch."""
    global _is_tracing, _plain_tensors
    import torch

    _is_tracing = torch.compiler.is_dynamo_compiling
    _plain_tensors = (torch.Tensor, torch.nn.Parameter)


def is_tracing() -> Callable[[], bool]:
    """torch's own function object, which dynamo recognises by identity and folds to True."""
    return _is_tracing


def wrap(function: Callable[..., Any], spec: Spec, names: tuple[str, ...] = ()) -> Callable[..., Any]:
    """A hook for a c10d function; `names` are its parameters if it has no signature."""
    return hook_around(function, reader(spec, names or tuple(inspect.signature(function).parameters)))


def hook_around(function: Callable[..., Any], read: Read, *, event: bool = True) -> Callable[..., Any]:
    """A hook for `function`, whose calls `read` describes; if `read` returns None, the call is not recorded.

    Only the outermost call of a thread is recorded, not the calls that c10d makes inside it.
    """
    is_tracing = _is_tracing

    def hook(*args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return function(*args, **kwargs)
        page = state.page
        slot = None if page is None else outermost(page, sys._getframe(1))
        if page is None or slot is None:
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
        depth, operation = slot.depth, None
        try:
            operation = _begin(page, slot, read, args, kwargs, event)
            result = function(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            exit_hooks.note_first_seen(error)
            raise
        finally:
            close(page, slot, depth)
        if operation is not None and operation.flags & layout.ASYNCHRONOUS and result is not None:
            _remember(result, operation)
        return result

    return register_hook(impersonate(hook, function))


def register_hook(hook: Hook) -> Hook:
    """Register a hook that records calls in flight (see `settle`)."""
    _entering.add(id(hook.__code__))
    return hook


def outermost(page: PageWriter, frame: FrameType | None) -> Slot | None:
    """This thread's row, or None inside a communication call, whose inner calls are not recorded."""
    slot = page.slot()
    drop_stale_calls(page, slot, frame)
    return None if slot.inside else slot


def drop_stale_calls(page: PageWriter, slot: Slot, frame: FrameType | None) -> None:
    """Remove calls from this thread's row that are no longer in flight.

    A signal handler of the job may raise inside a hook before the hook has removed its call. So a row with calls in
    flight is valid only if such a hook is on the stack.
    """
    if slot.depth or slot.inside or slot.in_backward:
        while frame is not None and id(frame.f_code) not in _entering:
            frame = frame.f_back
        if frame is None:
            slot.in_backward = False
            close(page, slot, 0)


def close(page: PageWriter, slot: Slot, depth: int) -> None:
    """Reduce this thread's calls in flight to `depth`."""
    slot.inside = False
    if slot.depth != depth:
        page.leave(slot, depth)


def _begin(
    page: PageWriter, slot: Slot, read: Read, args: tuple[Any, ...], kwargs: dict[str, Any], event: bool
) -> Operation | None:
    try:
        deferred_patches.apply_due()
        operation = read(page, args, kwargs)
        if operation is None:
            return None
        place = call_sites.place(page, sys._getframe(2))
        # an asynchronous call that blocks all the same is seen by the wait inside it
        slot.inside = not operation.flags & layout.ASYNCHRONOUS
        page.enter(slot, operation, place, CALL_EVENT if event else 0)
        if sys.exc_info()[1] is not None:
            exit_hooks.note_handled(page)
        return operation
    except state.FAULTS:
        return None


def reader(spec: Spec, names: tuple[str, ...]) -> Read:
    """A function that reads the arguments of a call, at the positions that its signature gives them."""
    kind = CALL_KIND[spec.kind]
    is_pair = spec.kind in ("send", "recv")
    tensors_at = _place(names, spec.tensors)
    group_at = _place(names, "group", "parent_pg", "process_group")
    asynchronous_at = _place(names, "async_op")
    tag_at = _place(names, "tag")
    other_at, group_other_at = (_place(names, name) for name in spec.other or ("", ""))
    # without a root argument torch takes rank 0; a receiver that names no peer accepts any
    no_other = layout.NONE if spec.kind == "recv" else 0
    always = (layout.ASYNCHRONOUS if spec.asynchronous else 0) | (layout.TAGGED if tag_at else 0)

    def read(page: PageWriter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation | None:
        group = groups.find(page, _argument(group_at, args, kwargs))
        if group is None:
            return None
        numel, dtype = tensor_size(page, _argument(tensors_at, args, kwargs)) if tensors_at else (layout.NONE, 0)
        peer = root = layout.NONE
        if spec.other:
            rank, within = _argument(other_at, args, kwargs), _argument(group_other_at, args, kwargs)
            other = _global_rank(group.members, rank, within, no_other)
            peer, root = (other, layout.NONE) if is_pair else (layout.NONE, other)
        tag = _argument(tag_at, args, kwargs) if tag_at else 0
        flags = always | (layout.ASYNCHRONOUS if _argument(asynchronous_at, args, kwargs) else 0)
        return Operation(kind, page.text(spec.op), group.position, numel, dtype, peer, root, tag or 0, flags)

    return read


def _place(names: tuple[str, ...], *wanted: str) -> tuple[int, str] | None:
    """Position and name of the first of the wanted parameters that exists."""
    return next(((names.index(name), name) for name in wanted if name and name in names), None)


def _argument(place: tuple[int, str] | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if place is None:
        return None
    return args[place[0]] if place[0] < len(args) else kwargs.get(place[1])


def tensor_size(page: PageWriter, tensors: Any) -> tuple[int, int]:
    """(elements, text position of the dtype) of a tensor or a list of tensors; subclasses are not touched."""
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


def awaited_operation(page: PageWriter, handle: Any) -> Operation:
    """The operation that a handle's `wait` completes, as far as it is known."""
    entry = _handles.get(id(handle))
    if entry is None or entry[0]() is not handle:
        return Operation(kind=WAIT, op=page.text("wait"))
    return entry[1]._replace(kind=WAIT, flags=entry[1].flags & ~layout.ASYNCHRONOUS)


def _remember(handle: Any, operation: Operation) -> None:
    try:
        # a functional collective returns a tensor that wraps the one that is waited for
        handle = getattr(handle, "elem", handle)
        key = id(handle)
        _handles.pop(key, None)
        while len(_handles) >= MOST_HANDLES:
            _handles.pop(next(iter(_handles)), None)
        # without a callback: a thread of the backend may release the tensor last, and none of our code runs there
        _handles[key] = (weakref.ref(handle), operation)
    except (TypeError, RuntimeError, StopIteration, KeyError):
        return


def _global_rank(members: tuple[int, ...], rank: Any, group_rank: Any, otherwise: int) -> int:
    if isinstance(rank, int):
        return rank
    if isinstance(group_rank, int) and 0 <= group_rank < len(members):
        return members[group_rank]
    return otherwise
