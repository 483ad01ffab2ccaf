"""Functions that the program runs in threads of their own, and what the main thread does meanwhile."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.lint.values.abstract_objects import Function, Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model import c10d
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

#: functions that run another one in a thread: position and name of that
_STARTING = {
    "threading.Thread": (1, "target"), "threading.Timer": (1, "function"), "asyncio.to_thread": (0, "func"),
}  # fmt: skip
#: the same of an executor's methods
_SUBMITTING = {"submit": (0, "fn"), "run_in_executor": (1, "func")}
#: wait for a thread, or for what it gives
_JOINING = frozenset({"join", "result", "shutdown", "wait", "as_completed"})
#: ranks do not meet in them, or they make or end the group
_NOT_MEETING = frozenset({"init_process_group", "destroy_process_group"})
#: calls of functions that are followed
_DEEPEST = 4


class Background(NamedTuple):
    """A collective of the job's group in a thread, and one that the main thread may enter meanwhile."""

    #: starts the thread
    start: CallEvent
    op: str
    site: SourceSite
    meanwhile: CallEvent


def in_background(facts: ModuleFacts) -> Iterator[Background]:
    """Collectives of two threads in one group, whose order differs between ranks."""
    for start, info in _started(facts):
        found = next(_collectives(info, _DEEPEST), None)
        meanwhile = _meanwhile(facts, start) if found is not None else None
        if found is not None and meanwhile is not None:
            yield Background(start, *found, meanwhile)


def _started(facts: ModuleFacts) -> Iterator[tuple[CallEvent, FunctionInfo]]:
    """Calls that run a function of the project in a thread."""
    places = [(call, _STARTING[call.path]) for call in facts.named(*_STARTING)]
    for call in facts.methods(*_SUBMITTING):
        made = call.receiver.object if call.receiver is not None else None
        if not (isinstance(made, Made) and "Process" in made.path):
            places.append((call, _SUBMITTING[call.method]))
    for call, (position, name) in places:
        given = call.argument(position, name)
        if given is not None and isinstance(given.object, Function):
            yield call, given.object.info


def _collectives(info: FunctionInfo, depth: int) -> Iterator[tuple[str, SourceSite]]:
    """Collectives of the job's group in a function and in what it calls."""
    for node in walk(info.node):
        if not isinstance(node, ast.Call):
            continue
        path = info.module.imported(node.func)
        spec = collectives.COLLECTIVES.get(path)
        if path == "torch.distributed.init_process_group":
            return  # a job of its own
        if spec is not None and not spec.pairwise and spec.op not in _NOT_MEETING and _of_job(node, path, spec.group):
            yield spec.op, site_of(info.module, node)
        elif not path and depth:
            inner = _called(info, node.func)
            if inner is not None and inner is not info:
                yield from _collectives(inner, depth - 1)


def _of_job(node: ast.Call, path: str, position: int) -> bool:
    """Whether a collective names no group but that of the job."""
    row = c10d.FUNCTIONS.get(path.rpartition(".")[2])
    position = row.position("group") if row is not None else position
    names = ("group", "process_group", "device_mesh", "no_dist")
    given = [keyword.value for keyword in node.keywords if keyword.arg in names or keyword.arg is None]
    given += node.args[position : position + 1] if position >= 0 else []
    given += [argument for argument in node.args if isinstance(argument, ast.Starred)]
    return all(text_of(group) == "None" or text_of(group).endswith("group.WORLD") for group in given)


def _called(info: FunctionInfo, func: ast.expr) -> FunctionInfo | None:
    """A function of the same file, or method of the same class, that is called by its name."""
    name = last_name(func)
    if isinstance(func, ast.Name):
        return next((f for f in info.module.functions if f.name == name), None)
    of_self = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"
    return info.owner.methods.get(name) if of_self and info.owner is not None else None


def _meanwhile(facts: ModuleFacts, start: CallEvent) -> CallEvent | None:
    """What the main thread enters in the job's group before it waits for the thread."""
    root = start.context.calls[:1]
    mine = [call for call in facts.concerning(_matters) if call.context.calls[:1] == root and call is not start]
    later = [call for call in mine if call.index > start.index]
    around = {loop.node for loop in start.context.loops}
    again = [c for c in mine if c.index < start.index and any(loop.node in around for loop in c.context.loops)]
    for call in (*later, *again):
        if _joins(call):
            return None
        if _meets(call):
            return call
    return None


def _matters(name: str) -> bool:
    return name in collectives.COLLECTIVES or name == ".backward" or name.rpartition(".")[2] in _JOINING


def _joins(call: CallEvent) -> bool:
    """Whether it may wait for a thread: no text that joins others, and no path."""
    if (call.method or call.path.rpartition(".")[2]) not in _JOINING or call.path.startswith(("os.", "torch.")):
        return False
    return call.receiver is None or not isinstance(call.receiver.constant, str)


def _meets(call: CallEvent) -> bool:
    spec = collectives.COLLECTIVES.get(call.path)
    if spec is None:
        of_several = call.receiver is not None and bool(call.receiver.tags & (Tag.DDP | Tag.SHARDED))
        return call.method == "backward" and of_several
    return not spec.pairwise and spec.op not in _NOT_MEETING and _of_job(call.node, call.path, spec.group)
