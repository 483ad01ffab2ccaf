"""An asynchronous collective that is never waited for

## What it does
Finds tensors that are used before an asynchronous operation (`async_op=True`, `isend`, `irecv`, `batch_isend_irecv`) is
done with them: what is received or reduced is read, or what is sent is changed, and nothing that could wait comes in
between, neither in the function nor in what it calls. Where nothing ever takes the handle, so that a caller cannot wait
either, it is enough that the tensor is returned or handed on; so it is where a loop goes through what was kept with the
handles and leaves these alone. As hints, it finds handles that are dropped or assigned to a name that is never read,
and messages whose handle is overwritten in the next iteration of a loop.

## Why it harms
The call returns before the data has arrived. The following computation reads the tensor half reduced, or before the
message has arrived, or overwrites it while it is still being sent. On gloo the program may also end in the middle of
the operation.

## Example
```python
dist.all_reduce(gradient, async_op=True)
optimizer.step()
```

## Use instead
```python
work = dist.all_reduce(gradient, async_op=True)
work.wait()
optimizer.step()
```

## Fix safety
No automatic fix: where to wait is the point of the asynchronous call.

## When it is wrong
When something else waits that lint cannot see. A wait for any handle, a device synchronisation, a barrier and another
collective in between are taken as a wait, and so is a call of anything that may do so; operations in a CUDA stream of
the program's own and under a coalescing manager are not looked at. A lost handle alone is a hint: at first looks, most
of these tensors were not used before the data had arrived, and some messages were of the backend "tcp", which only
torch before 1.0 has.

## References
https://docs.pytorch.org/docs/stable/distributed.html#synchronous-and-asynchronous-collective-operations
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, unfinished
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.facts.unfinished import Begun, Use
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Function
from ddpdoctor.model import c10d
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import site_of
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD120", "async-not-waited", Severity.WARNING,
    words=frozenset({"async_op", "isend", "irecv", "all_reduce", "broadcast", "batch_isend_irecv"}),
    advice="keep the handle and call its wait() before the tensor is read or overwritten",
)  # fmt: skip

_C10D = "torch.distributed."
#: return a handle whatever their arguments
_CHOOSING = frozenset(f"{_C10D}{row.name}" for row in c10d.FUNCTIONS.values() if "async_op" in row.parameters)
_ALWAYS = frozenset({"batch_isend_irecv", *(row.name for row in c10d.FUNCTIONS.values() if row.asynchronous)})
#: what waits for everything on the device or the group
_WAITS = frozenset({"wait", "synchronize", "barrier", "wait_all", "wait_stream", "wait_event"})


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Handles that are lost."""
    # a device that is waited for has ended the operations on it
    waited = facts.suggests(heuristics.WAITS_FOR_DEVICE)
    for call in facts.concerning(_is_of_torch):
        if not _is_async(call):
            continue
        early = unfinished.used_early(facts, call)
        if early is not None:
            yield _early(facts, *early)
            continue
        if waited or call.context.module is not facts.module:
            continue
        if any("coalescing" in name for name in call.context.withs):
            continue
        lost = _lost(facts, call)
        if not lost or _waited_for_next(facts, call):
            continue
        op = call.path.removeprefix(_C10D)
        message: str | Conditional = f"{lost}: {op} may still run when its data is used; wait for it"
        severity = Severity.HINT
        if _never_used_again(facts, call):
            message = Conditional("unless the job ends before it: ", f"{lost}, and nothing uses its data afterwards")
        older = Unconfirmed(call.site, RelatedRole.UNSTARTED)
        yield facts.finding(RULE, call.site, message, severity=severity, unconfirmed=older)


def _is_of_torch(name: str) -> bool:
    return name.removeprefix(_C10D) in _ALWAYS or name in _CHOOSING


def _early(facts: ModuleFacts, begun: Begun, use: Use) -> Finding | None:
    """A use of a tensor before anything waits."""
    op = begun.call.path.removeprefix(_C10D)
    does = "fills" if use.filled else "reads"
    tensor = shown(use.tensor)
    message = f"nothing waits for {op} before `{tensor}`, which it {does}, is {use.how}: call its wait() first"
    related = ((use.site, f"`{tensor}` is {use.how} here"),)
    here = site_of(begun.module, begun.node)
    older = Unconfirmed(begun.call.site, RelatedRole.UNSTARTED)
    context = begun.call.context
    return facts.finding(RULE, here, message, related=related, context=context, unconfirmed=older)


def _is_async(call: CallEvent) -> bool:
    name = call.path.removeprefix(_C10D)
    if name in _ALWAYS:
        return True
    row = c10d.FUNCTIONS.get(name)
    given = call.argument(row.position("async_op"), "async_op") if row and "async_op" in row.parameters else None
    return given is not None and given.known and given.constant is True


def _lost(facts: ModuleFacts, call: CallEvent) -> str:
    """How the handle is lost; "" if it may be waited for."""
    scope = _scope(facts, call.node)
    statement = facts.parents.get(call.node)
    if isinstance(statement, ast.Expr):
        return "" if _something_waits(scope) else "the handle of this operation is dropped"
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return ""
    reads = [n for n in walk(scope) if isinstance(n, ast.Name) and n.id == target.id and _is_read(n)]
    if not reads:
        shared = any(isinstance(n, (ast.Global, ast.Nonlocal)) and target.id in n.names for n in walk(scope))
        if shared or isinstance(scope, ast.Module) or _something_waits(scope):
            return ""
        return f"`{target.id}` is never waited for"
    # collectives of one group end in the order in which they were started; messages to several ranks do not
    return _overwritten(facts, statement, target.id, reads) if call.path.removeprefix(_C10D) in _ALWAYS else ""


def _waited_for_next(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a function of the project that waits is the next thing that is called: behind the loop, the `if`, or both
    that the operation is in."""
    node: ast.AST = call.node
    while not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
        following = blocks.next_statement(facts, node) if isinstance(node, ast.stmt) else None
        while isinstance(following, ast.If) and _only_communicates(following):
            following = blocks.next_statement(facts, following)
        if following is not None:
            called = following.value if isinstance(following, ast.Expr) else None
            return isinstance(called, ast.Call) and _waits(facts, called.func)
        node = facts.parents[node]
    return False


def _only_communicates(branch: ast.If) -> bool:
    """Whether its branches hold operations alone: of the other side, which receives what this one sends."""
    calls = [n for s in (*branch.body, *branch.orelse) for n in walk(s) if isinstance(n, ast.Call)]
    return bool(calls) and all(last_name(call.func) in c10d.FUNCTIONS for call in calls)


def _waits(facts: ModuleFacts, func: ast.expr) -> bool:
    """Whether it is a function of the project that waits for the device or the group."""
    value = global_value(facts.analysis, facts.module, func.id) if isinstance(func, ast.Name) else None
    return value is not None and isinstance(value.object, Function) and _something_waits(value.object.info.node)


def _never_used_again(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether what is sent or reduced is a value that the function made, and that neither it nor anybody else uses
    after the call, which is not repeated."""
    scope = _scope(facts, call.node)
    data = call.node.args[0] if call.node.args else None
    if not isinstance(data, ast.Name) or not isinstance(scope, ast.FunctionDef) or call.context.loops:
        return False
    uses = [n for n in walk(scope) if isinstance(n, ast.Name) and n.id == data.id]
    made = any(not _is_read(n) for n in uses)
    given = any(arg.arg == data.id for arg in ast.walk(scope.args) if isinstance(arg, ast.arg))
    shared = any(isinstance(n, (ast.Global, ast.Nonlocal)) and data.id in n.names for n in walk(scope))
    after = any(n.lineno > (call.node.end_lineno or call.node.lineno) for n in uses)
    return made and not given and not shared and not after


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, (ast.Load, ast.Del))


def _scope(facts: ModuleFacts, node: ast.AST) -> ast.AST:
    current: ast.AST = node
    while not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
        current = facts.parents[current]
    return current


def _something_waits(scope: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in _WAITS for n in walk(scope))


def _overwritten(facts: ModuleFacts, statement: ast.Assign, name: str, reads: list[ast.Name]) -> str:
    """A handle created in each iteration of a loop and read only after the loop: all but the last are lost."""
    loop: ast.AST | None = statement
    while loop is not None and not isinstance(loop, (ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)):
        loop = facts.parents.get(loop)
    if not isinstance(loop, (ast.For, ast.While)) or _leaves(loop):
        return ""
    first, last = loop.lineno, loop.end_lineno or loop.lineno
    if any(first <= r.lineno <= last for r in reads) or _something_waits(loop):
        return ""
    return f"each iteration of the loop overwrites `{name}`, so only the last operation is waited for"


def _leaves(loop: ast.AST) -> bool:
    """The loop may well run once."""
    return any(isinstance(n, (ast.Break, ast.Return)) for n in walk(loop))
