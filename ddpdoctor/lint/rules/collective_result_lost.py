"""The result of a collective is lost

## What it does
Finds in-place collectives on a temporary value (`all_reduce(x.float())`, `all_reduce(torch.tensor(n))`,
`group.allreduce(x.cuda())`, `broadcast_object_list([epoch])`) whose result cannot be read, copies that are reduced and
then never looked at (`total = count.cuda()`, `all_reduce(total)`, `return count`), and the None that `all_reduce` and
`broadcast` return used as a value.

## Why it harms
The collective changes the temporary value, not the variable. Each rank silently continues with its own numbers.

## Example
```python
dist.all_reduce(loss.float())
log(loss)
```

## Use instead
```python
total = loss.float()
dist.all_reduce(total)
log(total)
```

## Fix safety
No automatic fix.

## When it is wrong
`x.contiguous()` and `x.to(...)` may return `x` itself, and then the code happens to work; these are hints, but a
warning where `x` is a parameter, is moved by `.cuda()`, and the project passes a new tensor of the CPU. A list that has
no name is a warning, since the call may be made for the meeting alone; it is an error where each rank has drawn its own
of what is sent, and uses that afterwards. A root may send a temporary value: a broadcast
under a condition on the rank is not reported, unless it is known to leave out the source, nor is one of a list in a
function that such ranks alone hand to something, as to a button. Functional collectives return their result and are
not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import handed_functions
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Items
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Symbol, Taint, Value
from ddpdoctor.model import c10d
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.kinds import Kind
from ddpdoctor.program.enclosing import FUNCTIONS, choices_at, innermost_function
from ddpdoctor.program.nodes import names_in, walk
from ddpdoctor.program.sites import site_of
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD118",
    "collective-result-lost",
    Severity.ERROR,
    advice="put the value into a variable, reduce that, and read it afterwards",
)


_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Load, ast.UnaryOp, ast.USub)
_IN_PLACE = tuple(f"torch.distributed.{name}" for name in ("all_reduce", "broadcast"))
#: the method of a process group, which works in place as well; elsewhere it returns the result, lost in the same way
_OF_GROUP = "allreduce"
#: always create a new tensor
_COPIES = frozenset({"clone"})
#: create a new tensor unless there is nothing to do
_MAYBE_COPIES = frozenset({"contiguous", "cuda", "cpu", "to", "float", "double", "half", "long", "int", "bfloat16"})
#: functions of torch whose result is a new tensor
_MAKERS = frozenset({"tensor", "stack", "cat"})
#: overwrite the elements of a list
_LISTS = {
    f"torch.distributed.{name}": c10d.FUNCTIONS[name]
    for name in ("broadcast_object_list", "scatter_object_list", "all_gather_object")
}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Temporaries as the tensor of an in-place collective; and their None taken for a result."""
    for call in facts.named(*_IN_PLACE):
        yield from _temporary(facts, call)
        yield from _forgotten(facts, call)
    for call in facts.named(*_LISTS):
        yield from _list(facts, call)
    for call in facts.methods(_OF_GROUP):
        yield from _temporary(facts, call)
    yield from _none_bound(facts)


def _temporary(facts: ModuleFacts, call: CallEvent) -> Iterator[Finding | None]:
    tensor = call.node.args[0] if call.node.args else None
    severity = _copied(tensor) if tensor is not None and call.unused else None
    # a root may send a temporary, and `x.cuda()` of a weight is the weight itself
    if severity is None or (call.path.endswith("broadcast") and (severity is Severity.HINT or _on_one_side(call))):
        return
    op = call.path.rpartition(".")[2] or call.method
    if not call.path and severity is Severity.ERROR:
        severity = Severity.WARNING  # whose method it is, is not known
    message = f"{op} changes a temporary value that cannot be read: assign it to a name first"
    moved = tensor is not None and severity is Severity.HINT and _moves_parameter(tensor, call)
    told = Conditional("where this makes a copy, ", message) if moved else message
    given = Unconfirmed(call.site) if moved else None
    yield facts.finding(RULE, call.site, told, severity=severity, unconfirmed=given)


def _moves_parameter(tensor: ast.expr, call: CallEvent) -> bool:
    """Whether it is `x.cuda()` of a parameter that the function reads afterwards: its callers know where `x` is."""
    owner = tensor.func.value if isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute) else None
    function = innermost_function(call.context.module.tree, call.site.line)
    if function is None or not isinstance(owner, ast.Name) or text_of(tensor) != f"{owner.id}.cuda()":
        return False
    read = (n for n in walk(function) if isinstance(n, ast.Name) and n.id == owner.id and n.lineno > call.site.end_line)
    return owner.id in {argument.arg for argument in function.args.args} and any(read)


def _copied(tensor: ast.expr) -> Severity | None:
    """How certain it is that an expression makes a new tensor out of data; None if it does not."""
    if isinstance(tensor, ast.BinOp):
        return Severity.ERROR
    if not isinstance(tensor, ast.Call) or _empty(tensor):
        return None
    name = tensor.func.attr if isinstance(tensor.func, ast.Attribute) else ""
    if _of_torch(tensor):
        return Severity.ERROR if name in _MAKERS else None
    if name in _COPIES:
        return Severity.ERROR
    if name not in _MAYBE_COPIES or not isinstance(tensor.func, ast.Attribute):
        return None
    # `torch.tensor(x).cuda()` is new whatever `cuda` does
    return _copied(tensor.func.value) or Severity.HINT


def _on_one_side(call: CallEvent) -> bool:
    """Whether only some ranks run this call of it, as far as can be read: the root, for example."""
    guards = call.context.guards
    return call.context.some_ranks_only or any(heuristics.CHOOSES_RANK.found_in(guard.text) for guard in guards)


def _list(facts: ModuleFacts, call: CallEvent) -> Iterator[Finding | None]:
    """A list without a name: what the other ranks put in it cannot be read."""
    position = _LISTS[call.path].position(_LISTS[call.path].overwrites)
    given = call.node.args[position] if 0 <= position < len(call.node.args) else None
    if not isinstance(given, (ast.List, ast.ListComp, ast.BinOp)) or not call.unused or _sends_only(facts, call):
        return
    if all(isinstance(n, _LITERALS) for n in walk(given)):
        return  # nothing is sent: the call only brings the ranks together
    op = call.path.rpartition(".")[2]
    message = f"{op} fills a list that has no name and cannot be read: assign it first"
    unread = call.site.file == facts.module.path and _is_read_nowhere(facts, given, call)
    severity = Severity.HINT if unread else Severity.WARNING
    used = _used_as_own(call, given)
    if used is not None:
        severity, name = Severity.ERROR, used.id
        message += f": `{name}` is each rank's own, and stays so where it is used afterwards"
    related = ((site_of(call.context.module, used), "used here"),) if used is not None else ()
    yield facts.finding(RULE, call.site, message, severity=severity, related=related)


def _used_as_own(call: CallEvent, given: ast.expr) -> ast.Name | None:
    """Where a variable, of which each rank has its own, is used after the call that was to give all ranks the same of
    it, by whoever runs the call."""
    row, module = _LISTS[call.path], call.context.module
    sent = call.argument(row.position(row.overwrites), row.overwrites)
    items = sent.object.items if sent is not None and isinstance(sent.object, Items) else ()
    if row.kind is not Kind.FROM_ROOT or not isinstance(given, ast.List) or len(items) != len(given.elts):
        return None
    own = {n.id for n, value in zip(given.elts, items, strict=True) if isinstance(n, ast.Name) and _is_own(value)}
    function = innermost_function(module.tree, call.site.line) if own else None
    return _next_use(function, own, call) if function is not None else None


def _is_own(value: Value) -> bool:
    """Whether each rank has its own of it, surely."""
    return value.taint in (Taint.RANK_LOCAL, Taint.RANK) and not value.tags & (Tag.MAYBE | Tag.AGREED)


def _next_use(function: ast.AST, names: set[str], call: CallEvent) -> ast.Name | None:
    """Where one of these variables is next used, on all ranks that run the call, as it was when that was made."""
    around = set(choices_at(function, call.site.line))
    later = [n for n in walk(function) if getattr(n, "lineno", 0) > call.site.end_line]
    named = [n for n in later if isinstance(n, ast.Name) and n.id in names]
    first = min(named, key=lambda n: (n.lineno, isinstance(n.ctx, ast.Store), n.col_offset), default=None)
    if first is None or not isinstance(first.ctx, ast.Load):
        return None
    if not around.issuperset(choices_at(function, first.lineno)):
        return None
    left = (n for n in later if isinstance(n, _LEAVING) and n.lineno < first.lineno)
    return None if any(left) else first


_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def _sends_only(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether only the source may run this call of it, which reads its list: it is under a condition on the rank, or in
    a function that such ranks alone hand to something."""
    if _on_one_side(call):
        return not _fills_surely(call)
    function = innermost_function(facts.module.tree, call.site.line) if call.site.file == facts.module.path else None
    handing = handed_functions.handing(facts, function.name) if isinstance(function, FUNCTIONS) else []
    return bool(handing) and all(map(_on_one_side, handing))


def _fills_surely(call: CallEvent) -> bool:
    """Whether ranks run a broadcast, as far as conditions on the rank tell, of which none is its source."""
    row, context = _LISTS[call.path], call.context
    choosing = (guard for guard in context.guards if len(guard.truth) > 1)
    if not context.some_ranks_only or any(isinstance(atom, Symbol) for guard in choosing for atom in guard.truth):
        return False
    given = call.argument(row.position("src"), "src")
    source = given.constant if given is not None else 0
    plain = row.kind is Kind.FROM_ROOT and not call.opaque and call.keyword("group_src") is None
    return plain and type(source) is int and not context.mask >> source & 1


def _is_read_nowhere(facts: ModuleFacts, sent: ast.expr, call: CallEvent) -> bool:
    """Whether what is sent are variables of the function that it reads nowhere else: nothing depends on them."""
    function = innermost_function(facts.module.tree, call.site.line)
    names = names_in(sent)
    if function is None or not names or any(isinstance(node, (ast.Attribute, ast.Call)) for node in walk(sent)):
        return False
    own = set(walk(sent))
    uses = {node.id for node in walk(function) if isinstance(node, ast.Name) and node not in own
            and isinstance(node.ctx, ast.Load)}  # fmt: skip
    return names.isdisjoint(uses)


def _forgotten(facts: ModuleFacts, call: CallEvent) -> Iterator[Finding | None]:
    """A copy that is made for the collective, and never looked at after it, while what it is a copy of is."""
    tensor = call.node.args[0] if call.node.args else None
    if not isinstance(tensor, ast.Name) or not call.unused or call.site.file != facts.module.path:
        return
    function = innermost_function(facts.module.tree, call.site.line)
    if function is None or _on_one_side(call):
        return
    nodes = walk(function)
    made = [n for n in nodes if isinstance(n, ast.Assign) and [getattr(t, "id", "") for t in n.targets] == [tensor.id]]
    if len(made) != 1 or _copied(made[0].value) is None or made[0].lineno >= call.site.line:
        return
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == tensor.id and isinstance(n.ctx, ast.Load)]
    original = _original(made[0].value)
    read = [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load)
            and n.lineno > call.site.end_line and text_of(n) == original]  # fmt: skip
    # a sum of the ranks' own numbers is no result: the call only brings them together
    named = original and not heuristics.OWN_NUMBERS.found_in(original)
    if named and read and all(use is tensor for use in uses):
        op = call.path.rpartition(".")[2]
        message = f"{op} changes only the copy `{tensor.id}`, which nobody reads: `{original}` keeps this rank's value"
        yield facts.finding(RULE, call.site, message, severity=Severity.WARNING)


def _original(copy: ast.expr) -> str:
    """The variable that a copy is made of, as it is written; "" if it is another expression."""
    while isinstance(copy, ast.Call) and isinstance(copy.func, ast.Attribute):
        copy = copy.args[0] if _of_torch(copy) and copy.args else copy.func.value
    while isinstance(copy, (ast.List, ast.Tuple)) and len(copy.elts) == 1:
        copy = copy.elts[0]
    return text_of(copy) if isinstance(copy, (ast.Name, ast.Attribute)) else ""


def _empty(tensor: ast.expr) -> bool:
    """`torch.zeros(1).cuda()`: nothing is lost, the call only synchronises the ranks."""
    while isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute):
        name, owner = tensor.func.attr, tensor.func.value
        if isinstance(owner, ast.Name) and owner.id == "torch":
            return name in ("zeros", "ones", "empty") or (name == "tensor" and _literal(tensor))
        tensor = owner
    return False


def _literal(call: ast.Call) -> bool:
    return bool(call.args) and all(isinstance(n, _LITERALS) for n in ast.walk(call.args[0]))


def _of_torch(call: ast.Call) -> bool:
    """Whether it is `torch.tensor(...)` or another function of torch."""
    func = call.func
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "torch"


def _none_bound(facts: ModuleFacts) -> Iterator[Finding | None]:
    for call in {id(call.node): call for call in facts.named(*_IN_PLACE)}.values():
        if (
            call.keyword("async_op") is not None
            or call.opaque
            or len(call.args) > 3
            or call.site.file != facts.module.path
        ):
            continue
        op = call.path.rpartition(".")[2]
        parent = facts.parents.get(call.node)
        if isinstance(parent, ast.Assign):
            target = parent.targets[0]
            if len(parent.targets) == 1 and isinstance(target, (ast.Name, ast.Attribute)) and text_of(target) != "_":
                message = f"{op} works in place and returns None: `{text_of(target)}` will be None"
                yield facts.finding(RULE, call.site, message)
        elif isinstance(parent, (ast.BinOp, ast.Attribute, ast.Subscript)):
            yield facts.finding(RULE, call.site, f"{op} works in place and returns None, which is used as a value here")
