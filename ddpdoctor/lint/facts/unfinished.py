"""Asynchronous operations whose tensors are used before anything waits for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.afterwards import afterwards, conditions_of
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.work_handles import Handle, Parents, Scopes, handle_of
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives, heuristics, tensors
from ddpdoctor.model import c10d
from ddpdoctor.model.kinds import Kind
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import record
from ddpdoctor.program.enclosing import innermost_function, statements_around
from ddpdoctor.program.modules import FunctionInfo, FunctionNode, Module
from ddpdoctor.program.nodes import last_name, parents, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

_C10D = "torch.distributed."
_BATCH = f"{_C10D}batch_isend_irecv"
#: what waits for everything on the device or the group, or asks whether it has ended
WAITS = frozenset({
    "wait", "synchronize", "barrier", "wait_all", "wait_stream", "wait_event", "is_completed", "result", "get_future",
    "then", "value", "done",
})  # fmt: skip
#: change the gradients that they find, or the parameters by them
_BY_GRADIENTS = frozenset({"step", "clip_grad_norm_", "clip_grad_value_", "unscale_"})
#: hand their arguments to no computation
_STASHING = frozenset({
    "append", "extend", "add", "appendleft", "insert", "put", "len", "isinstance", "type", "id", "hasattr", "getattr",
    "save_for_backward", "record_stream", "mark_dirty", "debug", "info", "warning", "zip", "enumerate", "range",
    "list", "tuple", "dict", "P2POp", "set_grad_enabled", "data_ptr", "setattr",
})  # fmt: skip
#: calls of functions that are followed to where one waits
_DEEPEST = 3


class Use(NamedTuple):
    """The use of a tensor that an operation is not done with."""

    tensor: str
    #: "returned", "read", "changed"
    how: str
    site: SourceSite
    #: the operation fills it
    filled: bool


@record(frozen=True, slots=True, eq=False)
class Begun:
    """An asynchronous operation in the function that has its handle."""

    call: CallEvent
    #: in the function: the operation, or the call that led to it and gives the handle
    node: ast.Call
    module: Module
    function: FunctionNode
    #: calls open there
    depth: int
    sent: frozenset[str]
    filled: frozenset[str]


def used_early(facts: ModuleFacts, call: CallEvent) -> tuple[Begun, Use] | None:
    """The first use of a tensor of an operation that nothing has waited for, where that is sure."""
    begun = _begun(facts, call)
    if begun is None or any("stream" in name.lower() or "coalescing" in name for name in call.context.withs):
        return None
    while True:
        scopes = _scopes(begun)
        handle = handle_of(scopes, begun.node)
        if handle.escapes:
            return None
        if not handle.returned:
            use = next(_uses(facts, begun, handle, scopes.parents), None)
            return (begun, use) if use is not None else None
        outer = _caller(facts, begun)
        if outer is None:
            return None
        begun = outer


def _scopes(begun: Begun) -> Scopes:
    """Where its handle may be read: in the function, or in its class."""
    around = statements_around(begun.module.tree, begun.function.lineno)
    owner = next((node for node in reversed(around) if isinstance(node, ast.ClassDef)), None)
    place = owner if owner is not None else begun.module.tree
    return Scopes(begun.function, parents(walk(place)), place)


def _begun(facts: ModuleFacts, call: CallEvent) -> Begun | None:
    module = blocks.module_of(facts, call.site)
    function = innermost_function(module.tree, call.site.line) if module is not None else None
    if module is None or function is None:
        return None
    sent, filled = _tensors(function, call)
    if not sent and not filled:
        return None
    return Begun(call, call.node, module, function, len(call.context.chain), frozenset(sent), frozenset(filled))


def _tensors(function: ast.AST, call: CallEvent) -> tuple[set[str], set[str]]:
    """The tensors that an operation reads, and those that it fills, as they are written."""
    sent: set[str] = set()
    filled: set[str] = set()
    if call.path == _BATCH:
        for kind, given in _messages(function, call.node):
            (sent if kind == "isend" else filled).update(_keys(given))
        return sent, filled
    row = c10d.FUNCTIONS[call.path.removeprefix(_C10D)]
    given = _argument(call.node, row.position(row.gives), row.gives)
    fills = collectives.FILLS.get(row.name, row.overwrites)
    taken = _argument(call.node, row.position(fills), fills) if fills else None
    alone = row.kind is Kind.FROM_ROOT and _is_from_here(call, row.position("src"))
    filled.update(_keys(taken) if not alone else ())
    sent.update(key for key in _keys(given) if key not in filled)
    return sent, filled


def _is_from_here(call: CallEvent, position: int) -> bool:
    """Whether only the root comes to the call, which sends."""
    root = call.argument(position, "src")
    return root is not None and type(root.constant) is int and call.context.mask == 1 << root.constant


def _argument(node: ast.Call, position: int, name: str) -> ast.expr | None:
    if 0 <= position < len(node.args):
        found = node.args[position]
        return None if isinstance(found, ast.Starred) else found
    return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)


def _messages(function: ast.AST, node: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    """(isend or irecv, its tensor) of the messages in a batch: those that its list is made of in the function."""
    given = _argument(node, 0, "p2p_op_list")
    wanted = {text_of(given)} if given is not None else set()
    inside = set(walk(given)) if given is not None else set()
    if isinstance(given, (ast.List, ast.Tuple)):
        wanted = {text_of(element) for element in given.elts}
    up = parents(walk(function))
    for op in walk(function):
        if not isinstance(op, ast.Call) or last_name(op.func) != "P2POp":
            continue
        parent = up.get(op)
        while isinstance(parent, (ast.List, ast.Tuple, ast.IfExp)):
            parent = up.get(parent)
        stored = _stored_in(parent)
        if op in inside or (stored is not None and text_of(stored) in wanted):
            yield last_name(_argument(op, 0, "op")), _argument(op, 1, "tensor")


def _stored_in(parent: ast.AST | None) -> ast.expr | None:
    if isinstance(parent, ast.Assign):
        return parent.targets[0]
    if isinstance(parent, ast.AugAssign):
        return parent.target
    func = parent.func if isinstance(parent, ast.Call) else None
    return func.value if isinstance(func, ast.Attribute) and func.attr in _STASHING else None


def _keys(node: ast.expr | None) -> Iterator[str]:
    """The tensors, as they are written, whose memory an argument surely is."""
    if isinstance(node, (ast.List, ast.Tuple)):
        for element in node.elts:
            yield from _keys(element)
        return
    shared = _behind_views(node)
    if isinstance(shared, (ast.Name, ast.Attribute, ast.Subscript)) and _root(shared):
        yield text_of(shared)


def _behind_views(node: ast.expr | None) -> ast.expr | None:
    while True:
        if isinstance(node, ast.Attribute) and node.attr in tensors.VIEWS:
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in tensors.VIEWS:
            node = node.func.value
        else:
            return node


def _root(node: ast.AST | None) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _caller(facts: ModuleFacts, begun: Begun) -> Begun | None:
    """The same in the function that called this one, which gets the handle."""
    depth = begun.depth - 1
    call = _call_at(facts, begun.call.context.chain[depth]) if depth >= 0 else None
    if call is None:
        return None
    module, function, node = call
    given = _bound(begun.function, node)
    sent, filled = (
        frozenset(key for name in names if name in given for key in _keys(given[name]))
        for names in (begun.sent, begun.filled)
    )
    return Begun(begun.call, node, module, function, depth, sent, filled) if sent or filled else None


def _call_at(facts: ModuleFacts, site: SourceSite) -> tuple[Module, FunctionNode, ast.Call] | None:
    """The call at a place, with the function that it is in."""
    module = blocks.module_of(facts, site)
    function = innermost_function(module.tree, site.line) if module is not None else None
    if module is None or function is None:
        return None
    found = (n for n in walk(function) if isinstance(n, ast.Call) and site_of(module, n) == site)
    node = next(found, None)
    return (module, function, node) if node is not None else None


def _bound(function: FunctionNode, node: ast.Call) -> dict[str, ast.expr]:
    """Parameter -> what a call gives for it, as it is written; the object of a method is given by no argument."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] in (["self"], ["cls"]):
        del names[0]
    given = dict(zip(names, node.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None})
    return {name: value for name, value in given.items() if not isinstance(value, ast.Starred)}


def _uses(facts: ModuleFacts, begun: Begun, handle: Handle, up: Parents) -> Iterator[Use]:
    """Uses of the tensors behind the operation, until something may wait for it."""
    left = {**dict.fromkeys(begun.sent, False), **dict.fromkeys(begun.filled, True)}
    changed = _changed_by_calls(facts, begun)
    chosen = _chosen_by(up, begun)
    lost = handle.lost and not handle.shared and not facts.suggests(heuristics.WAITS_FOR_DEVICE)
    for node, under in afterwards(up, begun.node):
        if node in handle.touches or (isinstance(node, ast.Call) and _may_wait(facts, begun.module, node)):
            return
        for key, filled in list(left.items()):
            how = changed.get(node, {}).get(key, "") or _how(begun.module, up, node, key)
            if how == "bound":
                del left[key]
            elif _counts(how, filled=filled, lost=lost) and not (under & chosen):
                yield Use(key, _WORDS.get(how, how), site_of(begun.module, node), filled)
        if not left:
            return
    yield from _in_loops(facts, begun, handle, up)


_WORDS = {"given": "used", "stepped": "used"}


def _counts(how: str, *, filled: bool, lost: bool) -> bool:
    """Whether a use is one that the operation and it are in each other's way for."""
    if how == "changed":
        return True
    return filled and (how == "read" or (lost and how in ("given", "returned", "stepped")))


def _in_loops(facts: ModuleFacts, begun: Begun, handle: Handle, up: Parents) -> Iterator[Use]:
    """Uses in loops over what was kept with the handles, where nothing takes these."""
    if not handle.lost or facts.suggests(heuristics.WAITS_FOR_DEVICE):
        return
    for loop, kept in handle.emptied:
        around = innermost_function(begun.module.tree, loop.lineno) or begun.function
        if any(isinstance(node, ast.Call) and _may_wait(facts, begun.module, node) for node in walk(around)):
            continue
        for node in (node for statement in loop.body for node in walk(statement)):
            key = kept.get(node.id, "") if isinstance(node, ast.Name) else ""
            if key in begun.filled and _how(begun.module, up, node, text_of(node)) in ("read", "changed", "given"):
                yield Use(key, "used", site_of(begun.module, node), filled=True)


def _chosen_by(up: Parents, begun: Begun) -> frozenset[str]:
    """The names in the conditions around the operation: one that has some of them may exclude it."""
    node: ast.AST = begun.node
    names: frozenset[str] = frozenset()
    while node is not begun.function and node in up:
        node = up[node]
        names |= conditions_of(node)
    return names


def _how(module: Module, up: Parents, node: ast.AST, key: str) -> str:
    """How a node uses a tensor: "read", "changed", "given" to a call, "returned", "bound" to something else, or "" ."""
    if isinstance(node, ast.Call) and key.endswith(".grad") and last_name(node.func) in _BY_GRADIENTS:
        return "stepped"
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return _stored(up, node, key)
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) or text_of(node) != key:
        return ""
    top, parent = _seen_through(up, node)
    if not isinstance(getattr(top, "ctx", ast.Load()), ast.Load):
        return "changed" if isinstance(top, ast.Subscript) or isinstance(parent, ast.AugAssign) else ""
    return _of_parent(module, up, top, parent)


def _stored(up: Parents, node: ast.Name, key: str) -> str:
    if node.id == key and isinstance(up.get(node), ast.AugAssign):
        return "changed"
    names = set(key.replace("[", " ").replace("]", " ").replace(".", " ").split())
    return "bound" if node.id in names else ""


def _seen_through(up: Parents, node: ast.AST) -> tuple[ast.AST, ast.AST | None]:
    """The expression that has the tensor's memory, or a part of it, and what holds that expression."""
    parent = up.get(node)
    while parent is not None:
        above = up.get(parent)
        if isinstance(parent, ast.Attribute) and parent.attr in tensors.VIEWS:
            node = above if isinstance(above, ast.Call) and above.func is parent else parent
        elif (isinstance(parent, ast.Subscript) and parent.value is node) or isinstance(
            parent, (ast.List, ast.Tuple, ast.Starred, ast.keyword)
        ):
            node = parent
        else:
            break
        parent = up.get(node)
    return node, parent


def _of_parent(module: Module, up: Parents, node: ast.AST, parent: ast.AST | None) -> str:
    """How an expression is used that stands there."""
    if isinstance(parent, ast.Attribute):
        called = up.get(parent)
        method = parent.attr if isinstance(called, ast.Call) and called.func is parent else ""
        if tensors.changes(method):
            return "changed"
        # a result that nobody takes tells nothing
        dropped = called is not None and isinstance(up.get(called), ast.Expr)
        return "read" if method in tensors.READING and not dropped else ""
    if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.FormattedValue, ast.AugAssign)):
        return "read"
    if isinstance(parent, ast.Compare):
        return "" if isinstance(parent.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)) else "read"
    if isinstance(parent, (ast.Return, ast.Yield)):
        return "returned"
    return _given(module, node, parent) if isinstance(parent, ast.Call) and parent.func is not node else ""


def _given(module: Module, node: ast.AST, call: ast.Call) -> str:
    """How a call uses what it is given."""
    if isinstance(node, ast.keyword) and node.arg == "out":
        return "changed"
    path = module.imported(call.func) or ""
    name = last_name(call.func)
    if tensors.reads(path) or (isinstance(call.func, ast.Name) and name in tensors.READERS):
        return "read"
    if path.startswith("torch.") or name in _STASHING or name[:1].isupper() or not name:
        return ""
    return "given"


def _may_wait(facts: ModuleFacts, module: Module, call: ast.Call) -> bool:
    """Whether a call may wait for operations that were begun before it."""
    name, path = last_name(call.func), module.imported(call.func) or ""
    if name in WAITS:
        return True
    if path.startswith(_C10D):
        row = c10d.FUNCTIONS.get(path.removeprefix(_C10D))
        return row is not None and row.kind is not None and not is_asynchronous(row, call)
    if path.startswith("torch.") or tensors.changes(name) or name in tensors.READING or name in _BY_GRADIENTS:
        return False
    known = _functions(facts, name)
    return _wait(facts, known, _DEEPEST) if known else heuristics.MAY_WAIT.found_in(name)


def _functions(facts: ModuleFacts, name: str) -> list[FunctionInfo]:
    """Functions and methods of the project of this name, and what makes or calls objects of this name."""
    modules = facts.modules
    infos = (info for m in modules for info in (*m.functions, *(f for c in m.classes for f in c.methods.values())))
    return [info for info in infos if info.name == name or (info.owner is not None and info.owner.name == name)]


def _wait(facts: ModuleFacts, known: list[FunctionInfo], depth: int) -> bool:
    """Whether one of these functions waits, or calls one that does."""
    for info in known:
        called = {last_name(n.func) for n in walk(info.node) if isinstance(n, ast.Call)}
        if called & WAITS:
            return True
        inner = (_functions(facts, name) for name in called - {info.name, ""}) if depth else ()
        if any(_wait(facts, functions, depth - 1) for functions in inner):
            return True
    return False


def is_asynchronous(row: c10d.Function, node: ast.Call) -> bool:
    """Whether a call says that it does not wait."""
    if row.asynchronous or "async_op" not in row.parameters:
        return row.asynchronous
    given = _argument(node, row.position("async_op"), "async_op")
    return isinstance(given, ast.Constant) and given.value is True


def _changed_by_calls(facts: ModuleFacts, begun: Begun) -> dict[ast.AST, dict[str, str]]:
    """Calls in the function -> tensors, as they are written there, that a function changes which they lead to."""
    found: dict[ast.AST, dict[str, str]] = {}
    way, depth = begun.call.context.chain[: begun.depth], begun.depth
    for event in facts.concerning(_changes):
        chain = event.context.chain
        if event.index < begun.call.index or len(chain) <= depth or chain[:depth] != way:
            continue
        place = _call_at(facts, chain[depth])
        if place is not None and place[1] is begun.function:
            key = _traced(facts, event, depth)
            found.setdefault(place[2], {}).update({key: "changed"} if key else {})
    return found


def _changes(name: str) -> bool:
    return name.startswith(".") and tensors.changes(name[1:])


def _traced(facts: ModuleFacts, event: CallEvent, depth: int) -> str:
    """What the object of a method is called some calls further up: "" if it is not certainly a tensor of there."""
    func = event.node.func
    node: ast.expr | None = func.value if isinstance(func, ast.Attribute) else None
    module = blocks.module_of(facts, event.site)
    function = innermost_function(module.tree, event.site.line) if module is not None else None
    for site in event.context.chain[depth:][::-1]:
        place = _call_at(facts, site)
        if function is None or place is None:
            return ""
        name = _parameter(function, node)
        node = _bound(function, place[2]).get(name)
        function = place[1]
    return next(_keys(node), "") if node is not None else ""


def _parameter(function: FunctionNode, node: ast.expr | None, depth: int = 0) -> str:
    """The parameter whose memory an expression is, through names that have one value: `k, v = pair.unbind(0)`."""
    node = _behind_views(node)
    while isinstance(node, ast.Subscript):
        node = _behind_views(node.value)
    if not isinstance(node, ast.Name) or depth > _DEEPEST:
        return ""
    stored = [n for n in walk(function) if isinstance(n, ast.Name) and n.id == node.id and not _is_read(n)]
    if not stored:
        return node.id
    made = [n for n in walk(function) if isinstance(n, ast.Assign) and any(s in walk(n.targets[0]) for s in stored)]
    # before the tensor that a change gives is bound to its own name
    first = min(made, key=lambda n: n.lineno, default=None)
    if first is None or len(made) < len(stored) or not all(_keeps(m, node.id) for m in made if m is not first):
        return ""
    return _parameter(function, first.value, depth + 1)


def _keeps(made: ast.Assign, name: str) -> bool:
    """Whether a name is bound to what is made of it: `k = rotate(k)`."""
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(made.value))


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)
