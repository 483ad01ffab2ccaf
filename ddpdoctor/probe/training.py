"""Counts the steps of a training loop: batches, forwards, backward passes, optimizer steps."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from . import call_sites, calls, deferred_patches, exit_hooks, groups, state
from . import page as layout
from .transparent_hooks import drop_frame, impersonate, skip_in_dynamo
from .writer import CALL_KIND, EVENT_KIND, Operation, PageWriter, Slot

NEXT, STOP, FAILED = EVENT_KIND["next"], EVENT_KIND["stop_iteration"], EVENT_KIND["next_raised"]
FORWARD, FORWARD_NO_SYNC = EVENT_KIND["forward"], EVENT_KIND["forward_no_sync"]
BACKWARD, STEP = EVENT_KIND["backward"], EVENT_KIND["optimizer_step"]

IN_BACKWARD, FROM_ROOT = CALL_KIND["backward"], CALL_KIND["from_root"]
#: calls of a reducer for a rebuild that are recorded: it rebuilds once, after its first synchronised backward
MOST_REBUILDS = 64
#: attribute of a data iterator: where it was created
MADE_AT = "_ddpdoctor_made_at"

#: id of a DDP module -> its number; one that is made at the address of another gets the other's
_modules: dict[int, int] = {}
_gradients_are_on: Callable[[], bool] = bool


def install() -> None:
    """Patch what torch has from its import on."""
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel
    from torch.optim.optimizer import register_optimizer_step_post_hook
    from torch.utils.data import dataloader

    global _gradients_are_on
    _gradients_are_on = torch.is_grad_enabled
    dataloader.DataLoader.__iter__ = loader_iter(dataloader.DataLoader.__iter__)
    iterator = dataloader._BaseDataLoaderIter
    iterator.__next__ = loader_next(iterator.__next__)
    DistributedDataParallel.forward = _ddp_forward(DistributedDataParallel.forward)
    reducer: Any = distributed.Reducer
    reducer._rebuild_buckets = _first_rebuilds(reducer._rebuild_buckets)
    reducer.prepare_for_backward = _note_prepared(reducer.prepare_for_backward)
    _watch_backward()
    skip_in_dynamo(_after_step.__code__)
    register_optimizer_step_post_hook(_after_step)


def _record(page: PageWriter, code: int, word: int, frame: Any) -> None:
    """Increment a hot word and add an event with the line of the job's own code."""
    try:
        page.mark(word, code, page.slot().thread, call_sites.place(page, frame))
    except state.FAULTS:
        return


def loader_iter(function: Callable[..., Any], uncounted: CodeType | None = None) -> Callable[..., Any]:
    """The hook for a loader's `__iter__`: counts what it makes, and notes the line that asked for it, but for calls of
    `uncounted`."""
    is_tracing = calls.is_tracing()

    def __iter__(self: Any) -> Any:  # noqa: N807 - stands in for that method
        if is_tracing() or sys._getframe(1).f_code is uncounted:
            return function(self)
        try:
            iterator = function(self)
        except BaseException as error:
            drop_frame(error)
            raise
        with contextlib.suppress(*state.FAULTS):
            made_at = call_sites.own_line(sys._getframe(1))
            setattr(iterator, MADE_AT, made_at)
            _count_iterator(self, made_at)
        return iterator

    return impersonate(__iter__, function)


def _count_iterator(loader: Any, made_at: Any) -> None:
    """Count an iterator, and note how many batches it has. Only where torch itself asks a sampler for its length, so
    that no length of the job's own is computed for us."""
    page = state.page
    if page is None or not made_at:
        return
    length, sampler = None, getattr(loader, "sampler", None)
    if type(sampler).__module__.startswith("torch.utils.data") and _has_length(loader):
        length = len(loader)
    page.made_iterator(page.text(made_at), length)


def _has_length(loader: Any) -> bool:
    return loader.batch_sampler is None or type(loader.batch_sampler).__module__.startswith("torch.utils.data")


def loader_next(function: Callable[..., Any], uncounted: CodeType | None = None) -> Callable[..., Any]:
    """The hook for a data iterator's `__next__`: counts batches, ends and failures, but for calls of `uncounted`."""
    is_tracing = calls.is_tracing()

    def __next__(self: Any) -> Any:  # noqa: N807 - stands in for that method
        if is_tracing() or sys._getframe(1).f_code is uncounted:
            return function(self)
        try:
            batch = function(self)
        except StopIteration as error:
            drop_frame(error)
            _count_batch(self, 2, STOP, sys._getframe(1))
            raise
        except BaseException as error:
            drop_frame(error)
            _note_failure(self, sys._getframe(1))
            exit_hooks.note_first_seen(error)
            raise
        _count_batch(self, 1, NEXT, sys._getframe(1))
        return batch

    return impersonate(__next__, function)


def _made_at(page: PageWriter, iterator: Any, frame: Any) -> int:
    """The text position of the line that created the iterator, 0 if it is not known.

    A loader of another library makes its iterators itself; then it is the line that first asked for a batch.
    """
    made_at = getattr(iterator, MADE_AT, None)
    if made_at is None:
        made_at = call_sites.own_line(frame)
        setattr(iterator, MADE_AT, made_at)
    return page.text(made_at) if made_at else 0


def _count_batch(iterator: Any, column: int, code: int, frame: Any) -> None:
    """Count in the row of the line that created the iterator: column 1 delivered, 2 stops."""
    page = state.page
    if page is None:
        return
    try:
        deferred_patches.apply_due()
        site = _made_at(page, iterator, frame)
        path = call_sites.place(page, frame)[1]
        page.mark(page.loader(site) + column, code, page.slot().thread, (site, path))
    except state.FAULTS:
        return


def _note_failure(iterator: Any, frame: Any) -> None:
    """The loader raised instead of delivering: if that is caught, the rank continues with one batch fewer."""
    page = state.page
    if page is None:
        return
    try:
        place = (_made_at(page, iterator, frame), call_sites.place(page, frame)[1])
        page.mark(layout.LOADER_FAILURES, FAILED, page.slot().thread, place)
    except state.FAULTS:
        return


def _ddp_forward(function: Callable[..., Any]) -> Callable[..., Any]:
    is_tracing = calls.is_tracing()

    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return function(self, *inputs, **kwargs)
        page = state.page
        slot = None if page is None else page.slot()
        before = None
        try:
            if slot is not None:
                group = getattr(self, "process_group", None)
                _count_ddp_forward(page, slot, self, group, sys._getframe(1))
                before, slot.forward_group = slot.forward_group, group
            return function(self, *inputs, **kwargs)
        except BaseException as error:
            drop_frame(error)
            exit_hooks.note_first_seen(error)
            raise
        finally:
            if slot is not None:
                slot.forward_group = before

    return impersonate(forward, function)


def _count_ddp_forward(page: Any, slot: Slot, module: Any, group: Any, frame: Any) -> None:
    """Count a forward, with its module and group: a job may train several models in several groups."""
    synchronises = getattr(module, "require_backward_grad_sync", True)
    try:
        known = groups.find(page, group)
        number = _modules.setdefault(id(module), len(_modules))
        about = (number, known.position if known else 0)
    except state.FAULTS:
        about = (layout.NONE, 0)
    if synchronises:
        slot.synchronised = about
    count_forward(page, synchronises, frame, about)


def _first_rebuilds(function: Callable[..., Any]) -> Callable[..., Any]:
    """Every forward of DDP calls for a rebuild; the only call that communicates is among a reducer's first ones."""
    is_tracing = calls.is_tracing()
    recorded = calls.hook_around(function, _read_rebuild, event=False)
    asked: dict[int, int] = {}
    alive: dict[int, weakref.ref[Any]] = {}

    def _rebuild_buckets(self: Any) -> Any:
        if is_tracing():
            return function(self)
        key = id(self)
        times = asked.get(key, 0)
        try:
            if times == MOST_REBUILDS or state.page is None:
                return function(self)
            if not times:
                alive[key] = weakref.ref(self, _forgetter(key, asked, alive))
            asked[key] = times + 1
            return recorded(self)
        except BaseException as error:
            drop_frame(error)
            raise

    return impersonate(_rebuild_buckets, function)


def _note_prepared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Only the next backward after this averages gradients. DDP calls it at the end of a forward; Lightning (manual
    optimization) and MMCV call it themselves, before each backward."""
    is_tracing = calls.is_tracing()

    def prepare_for_backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        page = state.page
        if page is not None and not is_tracing():
            page.slot().prepared = True
        try:
            return function(self, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    return impersonate(prepare_for_backward, function)


def _forgetter(key: int, *tables: dict[int, Any]) -> Callable[[object], None]:
    """A weak reference's callback that drops a key. It uses no globals: at exit these are cleared before the last
    objects."""

    def forget(_: object) -> None:
        for table in tables:
            table.pop(key, None)

    return forget


def _read_rebuild(page: PageWriter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation | None:
    """DDP's second forward agrees on the order of buckets: a broadcast in C++ from the first rank of its group."""
    del args, kwargs
    group = groups.find(page, page.slot().forward_group)
    if group is None:
        return None
    return Operation(
        FROM_ROOT, page.text("broadcast"), group.position, root=group.members[0], detail=b"order of DDP's buckets"
    )


def count_forward(
    page: PageWriter | None, synchronises: object, frame: Any, about: tuple[int, int] = (layout.NONE, 0)
) -> None:
    """Count a forward; `about`: the number of its module and the text position of its group, where they are known."""
    if page is None:
        return
    code, word = (FORWARD, layout.FORWARDS) if synchronises else (FORWARD_NO_SYNC, layout.FORWARDS_NO_SYNC)
    try:
        flags = layout.GRADIENTS if _gradients_are_on() else 0
        page.mark(word, code, page.slot().thread, call_sites.place(page, frame), (*about, flags))
    except state.FAULTS:
        return


def _watch_backward() -> None:
    """`torch.autograd.backward`, and the engine's own method, which Megatron and others call directly."""
    import torch
    from torch.autograd.variable import Variable

    torch.autograd.backward = _around_backward(torch.autograd.backward)
    engine: Any = Variable._execution_engine
    method = engine.run_backward
    hooked = _around_backward(method, direct=True)
    is_tracing = calls.is_tracing()

    class Engine(type(engine)):  # type: ignore[misc]
        """The engine, whose `run_backward` is hooked only if no hook is on the stack already.

        A property, so that under `torch.autograd.backward` the C++ method itself is called: its warnings name the
        innermost Python line, which must remain torch's.
        """

        @property
        def run_backward(self) -> Any:
            page = state.page
            return method if page is None or is_tracing() or page.slot().in_backward else hooked

    getter: Any = Engine.run_backward
    skip_in_dynamo(getter.fget.__code__)
    Variable._execution_engine = Engine()


def _around_backward(function: Callable[..., Any], *, direct: bool = False) -> Callable[..., Any]:
    is_tracing = calls.is_tracing()

    def backward(*args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return function(*args, **kwargs)
        page = state.page
        # autograd.grad runs the engine too, but accumulates nothing, so no reducer hook is called
        if page is None or (direct and not kwargs.get("accumulate_grad")):
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
        slot = page.slot()
        calls.drop_stale_calls(page, slot, sys._getframe(1))
        depth, nested = slot.depth, slot.in_backward
        slot.in_backward = True
        try:
            if not nested:
                _enter_backward(page, slot, sys._getframe(1))
            return function(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            exit_hooks.note_first_seen(error)
            raise
        finally:
            slot.in_backward = nested
            if not nested:
                page.leave(slot, depth, layout.BACKWARD_LEFT)

    return calls.register_hook(impersonate(backward, function))


def _enter_backward(page: PageWriter, slot: Slot, frame: Any) -> None:
    try:
        deferred_patches.apply_due()
        module, group = slot.synchronised
        flags = 0
        if slot.prepared is not None:
            flags, slot.prepared = layout.REDUCES if slot.prepared else layout.UNREDUCED, False
        operation = Operation(IN_BACKWARD, page.text("backward"), group, module, flags=flags)
        page.enter(slot, operation, call_sites.place(page, frame), BACKWARD, layout.BACKWARD_ENTERED)
    except state.FAULTS:
        return


def _after_step(optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ARG001 - torch's hook signature
    page = state.page
    if page is not None and not calls.is_tracing()():
        deferred_patches.apply_due()
        _record(page, STEP, layout.OPTIMIZER_STEPS, sys._getframe(1))
