"""Putting a hook in a function's place so that the job behaves and prints as without it.

- dynamo: our code objects are skipped when they run (the C call behind `torch._dynamo.disable(recursive=False)`,
  which needs no import of torch._dynamo), and every hook calls the original at once while dynamo traces through it.
- warnings: CPython leaves frames out of a warning's stack level when their file name contains "importlib" and
  "_bootstrap" (`is_internal_frame` in _warnings.c); the hooks' code objects carry such a name, so a warning names
  the line of the job that it names without the probe.
- tracebacks: a hook takes its own entry off an exception that passes through it (effective from Python 3.11).
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

MARK = "/importlib_bootstrap"


def impersonate(hook: Function, original: Callable[..., Any]) -> Function:
    """Give `hook` the name, signature and documentation of `original`, and hide its frame."""
    functools.update_wrapper(hook, original)
    code = hook.__code__
    hook.__code__ = code.replace(co_filename=code.co_filename + MARK)
    skip_in_dynamo(hook.__code__)
    return hook


def replace_in_torch(hooks: Iterable[tuple[Callable[..., Any], Callable[..., Any]]]) -> None:
    """Replace functions by hooks, given as (function, hook), wherever torch's modules imported them by name."""
    replaced = {id(function): (function, hook) for function, hook in hooks}
    for module in tuple(sys.modules.values()):
        if not getattr(module, "__name__", "").startswith(("torch.distributed", "torch.nn.parallel")):
            continue
        for name, value in tuple(vars(module).items()):
            entry = replaced.get(id(value))
            if entry is not None and entry[0] is value:
                setattr(module, name, entry[1])


def drop_frame(error: BaseException) -> None:
    """Remove the calling hook's own entry from the traceback of an exception that it is about to raise again."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def without_hooks(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without entries of hooks, which `drop_frame` cannot remove before Python 3.11."""
    while trace is not None and _is_hook(trace):
        trace = trace.tb_next
    entry = trace
    while entry is not None:
        while entry.tb_next is not None and _is_hook(entry.tb_next):
            entry.tb_next = entry.tb_next.tb_next
        entry = entry.tb_next
    return trace


def _is_hook(entry: types.TracebackType) -> bool:
    return entry.tb_frame.f_code.co_filename.endswith(MARK)


def skip_in_dynamo(code: types.CodeType) -> None:
    """Tell dynamo's frame evaluation not to compile this code, nor any code nested in it; this does not extend to
    callees.

    Uses private names of torch: absent before 2.7, where `skip_code` does the same; without either nothing happens.
    """
    try:
        from torch._C._dynamo import eval_frame
    except ImportError:
        return
    if hasattr(eval_frame, "set_code_exec_strategy"):
        skip = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT)
        _each_code(code, lambda one: eval_frame.set_code_exec_strategy(one, skip))
    elif hasattr(eval_frame, "skip_code"):
        _each_code(code, eval_frame.skip_code)


def skip_module_in_dynamo(module: types.ModuleType) -> None:
    """The same for every function and method that a module of the probe defines."""
    for value in tuple(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        for member in vars(value).values() if isinstance(value, type) else (value,):
            member = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(member, types.FunctionType):
                skip_in_dynamo(member.__code__)


def _each_code(code: types.CodeType, act: Callable[[types.CodeType], object]) -> None:
    act(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _each_code(constant, act)
