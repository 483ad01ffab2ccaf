"""Collectives for each key of a dict that each rank fills by the keys that it finds in its own data."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import Context
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import FunctionNode, Module, once
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of


class Key(NamedTuple):
    """Where a key comes from the data, how it is written there, and whether a loader gives that data."""

    site: SourceSite
    text: str
    loaded: bool


class PerKey(NamedTuple):
    """A loop over such a dict, with a collective in each turn."""

    site: SourceSite
    op: str
    #: the dict, as it is written
    text: str
    key: Key
    #: whether it goes through the keys in an order that all ranks have of the same keys
    ordered: bool
    context: Context | None


#: functions that go through a dict as it is
_THROUGH = frozenset({"sorted", "list", "tuple", "iter", "reversed", "enumerate"})
_VIEWS = frozenset({"keys", "values", "items"})
#: dicts without keys
_EMPTY = frozenset({"dict", "defaultdict", "OrderedDict"})
#: make a key of data, or take a part of it out
_KEEPING = frozenset({"str", "int", "item", "lower", "strip", "get", "pop", "tolist", "decode", "format"})


def found(facts: ModuleFacts) -> Iterator[PerKey]:
    """Each loop of the program with a collective for each key that a rank has met."""
    modules = facts.modules
    entering = _entering(modules)
    for module in modules if entering else ():
        loops: list[ast.For] = module.of(ast.For)
        for loop in loops:
            held = _held(loop.iter)
            op = _entered(module, entering, loop) if held is not None else ""
            if held is None or not op:
                continue
            key = _own_key(facts, modules, module, held)
            if key is not None:
                site = site_of(module, loop)
                context = next((i.context for i in facts.iterations if i.loop.node is loop), None)
                yield PerKey(site, op, text_of(held), key, _is_ordered(loop.iter), context)


def _entering(modules: Sequence[Module]) -> dict[str, str]:
    """Collectives by the names of the functions and methods that enter them, and by their own; without those of which
    others have the same name and enter none."""
    found: dict[str, str] = {}
    inside: dict[str, set[ast.AST]] = {}
    for module in modules:
        for called, op, scope in _collectives(module):
            found[called] = op
            if scope is not None:
                found[scope.name] = op
                inside.setdefault(scope.name, set()).add(scope)
    defined = (
        Counter(
            info.name
            for module in modules
            for info in (*module.functions, *(m for c in module.classes for m in c.methods.values()))
        )
        if found
        else Counter()
    )
    return {name: op for name, op in found.items() if defined[name] <= len(inside.get(name, ()))}


@once
def _collectives(module: Module) -> list[tuple[str, str, FunctionNode | None]]:
    """(name that is called, collective, function around the call) of each collective of all ranks in a file."""
    calls: list[ast.Call] = module.of(ast.Call)
    specs = ((call, collectives.COLLECTIVES.get(module.imported(call.func))) for call in calls)
    return [
        (last_name(call.func), spec.op, innermost_function(module.tree, call.lineno))
        for call, spec in specs
        if spec is not None and not spec.pairwise
    ]


def _held(over: ast.expr) -> ast.expr | None:
    """The dict that a loop goes through: `self.meters` of `sorted(self.meters.items())`."""
    while isinstance(over, ast.Call):
        if isinstance(over.func, ast.Attribute) and over.func.attr in _VIEWS and not over.args:
            over = over.func.value
        elif isinstance(over.func, ast.Name) and over.func.id in _THROUGH and over.args:
            over = over.args[0]
        else:
            return None
    return over if isinstance(over, (ast.Attribute, ast.Name)) else None


def _is_ordered(over: ast.expr) -> bool:
    """Whether the keys are sorted on the way: `enumerate(sorted(self.meters))`."""
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "sorted" for n in walk(over))


def _entered(module: Module, entering: dict[str, str], loop: ast.For) -> str:
    """A collective that each turn of a loop enters, itself or in a function or method that it calls; "" if none."""
    ops = (entering.get(name, "") for name in _called(module, loop))
    return next((op for op in ops if op), "")


@once
def _called(module: Module, loop: ast.For) -> tuple[str, ...]:
    """The names of what each turn of a loop calls, but the language's own functions."""
    calls = (n for statement in loop.body for n in walk(statement) if isinstance(n, ast.Call))
    return tuple(last_name(c.func) for c in calls if not module.imported(c.func).startswith("builtins"))


def _own_key(facts: ModuleFacts, modules: Sequence[Module], module: Module, held: ast.expr) -> Key | None:
    """Where a rank's own data decides which keys a dict has that is empty to begin with; None if it does not, or where
    something else fills it as well."""
    scope = innermost_function(module.tree, held.lineno) if isinstance(held, ast.Name) else None
    if not _begins_empty(module, held, scope):
        return None
    name, own = last_name(held), None
    for other in modules if isinstance(held, ast.Attribute) else [module]:
        for key in _keys(other, name, scope):
            if _is_listed(facts, other, key, name):
                return None
            own = own or _of_data(facts, modules, other, key)
    return own


def _begins_empty(module: Module, held: ast.expr, scope: ast.AST | None) -> bool:
    """Whether all that a name, or an attribute of `self`, is assigned in a file is a dict without keys."""
    if isinstance(held, ast.Attribute):
        owner = held.value.id if isinstance(held.value, ast.Name) else ""
        values = module.attribute_stores.get((owner, held.attr), []) if owner == "self" else []
    else:
        assigned = [n for n in walk(scope or module.tree) if isinstance(n, ast.Assign)]
        values = [a.value for a in assigned if any(last_name(t) == last_name(held) for t in a.targets)]
    return bool(values) and all(map(_is_empty, values))


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.Dict(keys=keys):
            return not keys
        case ast.Call(func=func, args=arguments, keywords=[]):
            return last_name(func) in _EMPTY and len(arguments) <= (last_name(func) == "defaultdict")
    return False


def _keys(module: Module, name: str, scope: ast.AST | None) -> Iterator[ast.expr]:
    """What a dict is asked for, and what is put into it."""
    for node in module.nodes if scope is None else walk(scope):
        match node:
            case ast.Subscript(value=value, slice=key) if last_name(value) == name:
                yield key
            case ast.Call(func=ast.Attribute(value=value, attr="setdefault"), args=[key, *_]) if (
                last_name(value) == name
            ):
                yield key


def _is_listed(facts: ModuleFacts, module: Module, key: ast.expr, name: str) -> bool:
    """Whether a loop over names gives the key, and not one over batches, over what a method is handed, or over the dict
    itself (`name`): then the dict has them all."""
    scope = innermost_function(module.tree, key.lineno) or module.tree
    around = [n for n in walk(scope) if isinstance(n, ast.For) and n.lineno <= key.lineno <= (n.end_lineno or 0)]
    loop = next((n for n in reversed(around) if not names_in(n.target).isdisjoint(names_in(key))), None)
    if loop is None or _is_over_data(facts, loop) or last_name(_held(loop.iter)) == name:
        return False
    viewed = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) in _VIEWS
    return _held(loop.iter) is not None and (not viewed or getattr(scope, "name", "") == "__init__")


def _of_data(facts: ModuleFacts, modules: Sequence[Module], module: Module, key: ast.expr) -> Key | None:
    """Where the data gives a key: here, or in what calls this function with it."""
    scope = innermost_function(module.tree, key.lineno)
    if scope is None:
        return None
    if _is_own(key, _data(facts, scope)):
        return Key(site_of(module, key), text_of(key), _is_loaded(facts, scope))
    parameter = _parameter(scope, key)
    if not parameter:
        return None
    for other in modules:
        calls: list[ast.Call] = other.of(ast.Call)
        meant = (c for c in calls if last_name(c.func) == scope.name and not _means_another(modules, other, c, module))
        for call in meant:
            around = innermost_function(other.tree, call.lineno)
            data = _data(facts, around) if around is not None else set()
            given = next((g for g in _given(scope, call, parameter) if _is_own(g, data)), None)
            if given is not None and around is not None:
                return Key(site_of(other, given), text_of(given), _is_loaded(facts, around))
    return None


def _means_another(modules: Sequence[Module], calling: Module, call: ast.Call, defining: Module) -> bool:
    """Whether a call in a file is of a function that another file than this one has under the same name:
    `other.compute()`."""
    owner, _, name = calling.imported(call.func).rpartition(".")
    named = (module for module in modules if module.name.rpartition(".")[2] == owner.rpartition(".")[2])
    return any(module is not defining and any(info.name == name for info in module.functions) for module in named)


def _parameter(scope: ast.AST, key: ast.expr) -> str:
    """The parameter that a key is, or whose keys it is one of: `for key, value in values.items()`; "" if none."""
    if not isinstance(key, ast.Name):
        return ""
    given = {a.arg for a in walk(scope) if isinstance(a, ast.arg)}
    if key.id in given:
        return key.id
    loops = [n for n in walk(scope) if isinstance(n, (ast.For, ast.comprehension)) and key.id in names_in(n.target)]
    # a name that several loops give is that of the one around
    around = [n for n in loops if isinstance(n, ast.For) and n.lineno <= key.lineno <= (n.end_lineno or 0)]
    for loop in around[-1:] or loops:
        held = _held(loop.iter)
        if isinstance(held, ast.Name) and held.id in given:
            return held.id
    return ""


def _given(scope: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, parameter: str) -> Iterator[ast.expr]:
    """What a call gives a parameter: the argument, or the keys of a dict that is written there."""
    names = [a.arg for a in (*scope.args.posonlyargs, *scope.args.args)]
    position = names.index(parameter) - (names[:1] == ["self"]) if parameter in names else -1
    values = [call.args[position]] if 0 <= position < len(call.args) else []
    values += [k.value for k in call.keywords if k.arg in (parameter, None)]
    for value in values:
        yield from (k for k in value.keys if k is not None) if isinstance(value, ast.Dict) else (value,)


def _data(facts: ModuleFacts, scope: ast.AST) -> set[str]:
    """The variables of a function that hold a batch, or what it says of itself."""
    names: set[str] = set()
    loops = [n for n in walk(scope) if isinstance(n, ast.For)]
    for loop in loops:
        if _is_over_data(facts, loop):
            names |= names_in(_without_count(loop))
    if not names:
        return names
    bound = [(t, n.value) for n in walk(scope) if isinstance(n, ast.Assign) for t in n.targets]
    bound += [(n.target, n.iter) for n in loops]
    for target, value in sorted(bound, key=lambda pair: pair[0].lineno):
        if _is_part(value, names):
            names |= names_in(target)
    return names


def _is_over_data(facts: ModuleFacts, loop: ast.For) -> bool:
    """Whether a loop goes through batches: it goes back over each itself, or a loader gives them."""
    if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) in ("range", "count"):
        return False
    inner = [n for statement in loop.body for n in walk(statement)]
    back = any(isinstance(n, ast.Call) and last_name(n.func) == "backward" for n in inner)
    if back and not any(isinstance(n, ast.For) and _goes_back(n) for n in inner):
        return True
    return _has_loader(facts, loop)


def _has_loader(facts: ModuleFacts, loop: ast.For) -> bool:
    begun = (i.loop for i in facts.iterations if i.loop.node is loop)
    return any(loaders.loader_of(known.over) is not None for known in begun)


def _is_loaded(facts: ModuleFacts, scope: ast.AST) -> bool:
    """Whether a function goes through the batches of a loader: which samples those have is left to chance."""
    return any(_has_loader(facts, loop) for loop in walk(scope) if isinstance(loop, ast.For))


def _goes_back(loop: ast.For) -> bool:
    return any(isinstance(n, ast.Call) and last_name(n.func) == "backward" for n in walk(loop))


def _without_count(loop: ast.For) -> ast.expr:
    """The target of a loop, without the number that `enumerate` gives."""
    counted = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate"
    if counted and isinstance(loop.target, ast.Tuple) and len(loop.target.elts) == 2:
        return loop.target.elts[1]
    return loop.target


def _is_part(node: ast.expr, names: set[str]) -> bool:
    """Whether it is something that a batch holds: `batch["domain"]`, `zip(batch.tasks, losses)`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "zip":
        return any(_is_part(argument, names) for argument in node.args)
    return not isinstance(node, ast.Name) and _is_own(node, names)


def _is_own(node: ast.expr, names: set[str]) -> bool:
    """Whether a text or number is one that the data gives."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(value=value):
            return _is_own(value, names)
        case ast.Subscript(value=value, slice=index):
            return _is_own(value, names) or _is_own(index, names)
        case ast.JoinedStr(values=parts):
            return any(isinstance(p, ast.FormattedValue) and _is_own(p.value, names) for p in parts)
        case ast.BinOp(left=left, right=right):
            return _is_own(left, names) or _is_own(right, names)
        case ast.Call(func=func, args=arguments) if last_name(func) in _KEEPING:
            owner = [func.value] if isinstance(func, ast.Attribute) else []
            return any(_is_own(part, names) for part in (*owner, *arguments))
    return False
