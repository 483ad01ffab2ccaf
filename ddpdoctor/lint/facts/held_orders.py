"""Orders in which the constructor of a data set keeps its samples, where each process makes another one of its own, and
what then divides the samples between the ranks by index.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, launch, orders_of_sets, prepared_orders, seeds
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.knowledge import aliases, heuristics, randomness
from ddpdoctor.lint.knowledge.randomness import Use
from ddpdoctor.lint.values.abstract_objects import Instance
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of


class Division(NamedTuple):
    """What divides a data set between the ranks by index."""

    site: SourceSite
    said: str
    at: int


class HeldOrder(NamedTuple):
    """A call in a constructor that puts samples into another order in each process."""

    call: CallEvent
    info: ClassInfo
    division: Division
    #: whether it is the order of a set, which nobody seeds
    of_set: bool


def found(facts: ModuleFacts) -> Iterator[HeldOrder]:
    """Those of data sets that take a sample by its index: the first of each class."""
    seen: set[tuple[str, bool]] = set()
    shuffled = ((call, False) for call in facts.named(*_ORDERING) if not call.context.some_ranks_only)
    of_sets = ((call, True) for call in facts.named(*_LISTING) if not call.context.some_ranks_only)
    for call, of_set in (*shuffled, *of_sets):
        info = _constructed(facts, call)
        if info is None or (info.name, of_set) in seen or not _is_certain(facts, info, call):
            continue
        division = _divided(facts, info, call)
        if division is None or not (_is_of_texts(facts, call) if of_set else unseeded(facts, call)):
            continue
        if _kept(facts, call) & taken_by_index(info):
            seen.add((info.name, of_set))
            yield HeldOrder(call, info, division, of_set)


#: functions that put a list into another order, or draw another list from it
_ORDERING = (*randomness.paths(Use.SHUFFLES, Use.ORDERS), "random.sample", "random.choices")
#: functions that make a list of a set
_LISTING = ("builtins.list", "builtins.tuple")
_SETTING = "PYTHONHASHSEED"


def _constructed(facts: ModuleFacts, call: CallEvent) -> ClassInfo | None:
    """The class of data sets whose constructor makes the call."""
    function = call.context.function
    info = function.owner if function is not None else None
    if info is None or f"{info.name}.__init__" not in call.context.calls or "__getitem__" not in info.methods:
        return None
    bases = external_bases(facts.analysis, info)
    return info if any(base.endswith("Dataset") and not base.endswith("IterableDataset") for base in bases) else None


def _is_certain(facts: ModuleFacts, info: ClassInfo, call: CallEvent) -> bool:
    """Whether nothing that is unknown decides in the class whether it is done, or it is done on the other side of that
    as well."""
    inside = site_of(info.module, info.node)
    open_ = [
        guard
        for guard in call.context.guards
        if not guard.value.known and guard.site.file == inside.file
        and inside.line <= guard.site.line <= inside.end_line
    ]  # fmt: skip
    others = facts.named(call.path)
    return all(any(_on_other_side(guard, other, call) for other in others) for guard in open_)


def _on_other_side(guard: Guard, other: CallEvent, call: CallEvent) -> bool:
    return other.context.calls == call.context.calls and any(
        one.site == guard.site and one.side is not guard.side for one in other.context.guards
    )


def _divided(facts: ModuleFacts, info: ClassInfo, call: CallEvent) -> Division | None:
    """What divides the data set after the call."""
    for made in _divisions(facts, info):
        if made.at > call.index:
            return made
    return None


def _divisions(facts: ModuleFacts, info: ClassInfo) -> Iterator[Division]:
    for sampler in facts.named(aliases.SAMPLER):
        if _is_of(sampler, info):
            yield Division(sampler.site, "divided between the ranks here", sampler.index)
    loaders = [call for call in facts.named(aliases.LOADER) if _is_of(call, info)]
    for loader in loaders:
        prepared = prepared_orders.divides(facts, loader)
        if prepared is not None:
            yield Division(prepared.site, "divided between the ranks here", prepared.index)
    for train in launch.trained_by_transformers(facts) if not facts.named(aliases.LOADER) else ():
        yield Division(train.site, "the trainer divides it between the ranks", train.index)


def _is_of(call: CallEvent, info: ClassInfo) -> bool:
    """Whether a loader or sampler is given an object of the class."""
    data = call.argument(0, "dataset")
    return data is not None and isinstance(data.object, Instance) and data.object.info is info


def unseeded(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether nothing has seeded anything before in a program that is started once for each rank."""
    if not call.context.from_script or facts.mentions(*heuristics.SENDS_OBJECTS.words):
        return False
    modules = facts.modules
    before = ((c.path or c.method).rpartition(".")[2] for c in facts.calls if c.index < call.index)
    if heuristics.MAY_SEED.found_in_any(before) or any(map(_seeds_at_once, modules)):
        return False
    return launch.trains_on_several(facts) and not seeds.parted_by_framework(facts)


def _seeds_at_once(module: Module) -> bool:
    """Whether a file seeds when it is imported."""
    done = (s for s in module.tree.body if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)))
    called = (last_name(n.func) for s in done if not _is_main(s) for n in walk(s) if isinstance(n, ast.Call))
    return heuristics.MAY_SEED.found_in_any(called)


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in text_of(statement.test)


def _is_of_texts(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a list is made of a set, and what is in it comes from names of files or parts of texts."""
    module = blocks.module_of(facts, call.site)
    scope = innermost_function(module.tree, call.site.line) if module is not None else None
    if module is None or scope is None or len(call.node.args) != 1 or any(_SETTING in text for text in facts.texts):
        return False
    if not launch.trains_on_several(facts) or not _is_set_here(module, scope, call.node.args[0]):
        return False
    made = _made_of(scope, call.node.args[0])
    called = {last_name(n.func) for value in made for n in walk(value) if isinstance(n, ast.Call)}
    return not called.isdisjoint(_OF_TEXTS)


def _made_of(scope: ast.AST, value: ast.expr) -> list[ast.expr]:
    """An expression in a function, and those that its variables are assigned."""
    steps = _assigned(scope)
    names = {text_of(value)}
    known = -1
    while known < len(names):
        known = len(names)
        read = (walk(made) for target, made in steps if target in names)
        names |= {text_of(n) for nodes in read for n in nodes if isinstance(n, (ast.Name, ast.Attribute))}
    return [value, *(made for target, made in steps if target in names)]


#: functions that give names of files, or texts
_OF_TEXTS = frozenset({
    "basename", "listdir", "glob", "iglob", "splitext", "split", "rsplit", "replace", "strip", "rstrip", "lower",
    "splitlines", "readlines", "removesuffix", "removeprefix",
})  # fmt: skip


def _is_set_here(module: Module, scope: ast.AST, node: ast.expr) -> bool:
    """Whether it is a set, or the variable or attribute that was last assigned one above."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.BitAnd, ast.BitOr)):
        return _is_set_here(module, scope, node.left)
    if isinstance(node, (ast.Name, ast.Attribute)):
        above = [value for target, value in _assigned(scope) if target == text_of(node) and value.lineno < node.lineno]
        return bool(above) and _is_set_here(module, scope, above[-1])
    return orders_of_sets.is_set(module, node)


def _kept(facts: ModuleFacts, call: CallEvent) -> set[str]:
    """The attributes in which the constructor keeps what it has put into that order."""
    module = blocks.module_of(facts, call.site)
    scope = innermost_function(module.tree, call.site.line) if module is not None else None
    held = held_in(scope, call.node) if scope is not None else set[str]()
    return {name.partition(".")[2] for name in held if name.startswith("self.")}


def held_in(scope: ast.AST, call: ast.Call) -> set[str]:
    """The variables and attributes in which a function has at its end what a call has put into another order."""
    in_place = call.args and last_name(call.func) == "shuffle"
    held = {text_of(call.args[0])} if in_place else set[str]()
    steps = sorted((n for n in walk(scope) if isinstance(n, ast.stmt)), key=lambda n: n.lineno)
    for step in steps:
        if (step.end_lineno or step.lineno) >= call.lineno:
            _follow(step, call, held)
    return held


def _follow(step: ast.stmt, call: ast.Call, held: set[str]) -> None:
    """Add and remove what a statement puts the order into, or makes of another one."""
    if isinstance(step, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = step.targets if isinstance(step, ast.Assign) else [step.target]
        names = {text_of(target) for target in targets}
        if step.value is not None and _has(step.value, call, held) and not _sorts(step.value):
            held |= names
        elif not isinstance(step, ast.AugAssign):
            held -= names
    elif isinstance(step, ast.Expr) and isinstance(step.value, ast.Call):
        _change(step.value, call, held)
    elif isinstance(step, ast.For) and _has(step.iter, call, held) and not _sorts(step.iter):
        held |= {n.id for n in walk(step.target) if isinstance(n, ast.Name)}


def _change(changing: ast.Call, call: ast.Call, held: set[str]) -> None:
    """The same of a method that changes a list."""
    if not isinstance(changing.func, ast.Attribute):
        return
    owner, method = text_of(changing.func.value), changing.func.attr
    if method == "sort":
        held.discard(owner)
    elif method in ("append", "extend") and any(_has(given, call, held) for given in changing.args):
        held.add(owner)


def reads(value: ast.AST, held: set[str]) -> bool:
    """Whether an expression reads one of these variables and attributes."""
    return any(text_of(node) in held for node in walk(value) if isinstance(node, ast.expr))


def _has(value: ast.AST, call: ast.Call, held: set[str]) -> bool:
    return any(node is call or text_of(node) in held for node in walk(value) if isinstance(node, ast.expr))


def _sorts(value: ast.AST) -> bool:
    """Whether it puts into order what it is made of, or counts it."""
    if isinstance(value, ast.Call) and last_name(value.func) == "len":
        return True
    return any(isinstance(n, ast.Call) and last_name(n.func) in ("sorted", "argsort") for n in walk(value))


def _assigned(scope: ast.AST) -> list[tuple[str, ast.expr]]:
    """What a function assigns to what, in the order of the lines."""
    plain = (n for n in walk(scope) if isinstance(n, ast.Assign) and len(n.targets) == 1)
    return [(text_of(n.targets[0]), n.value) for n in sorted(plain, key=lambda n: n.lineno)]


def taken_by_index(info: ClassInfo) -> set[str]:
    """The attributes of which a data set takes a sample by its index, and those that are put into them."""
    taken: set[str] = set()
    waiting: list[tuple[FunctionInfo, set[str]]] = []
    get = info.methods.get("__getitem__")
    if get is not None and len(get.parameters) > 1:
        waiting.append((get, {get.parameters[1].arg}))
    seen: set[str] = set()
    while waiting:
        method, index = waiting.pop()
        seen.add(method.name)
        for node in walk(method.node):
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Attribute)
                and _is_index(node.slice, index)
            ):
                taken.add(node.value.attr)
            if isinstance(node, ast.Call) and (called := _own_method(info, node)) and called.name not in seen:
                waiting.extend(_handed_on(called, node, index))
    filled = (
        n.value
        for n in walk(info.node)
        if isinstance(n, (ast.Assign, ast.AugAssign))
        and last_name(n.targets[0] if isinstance(n, ast.Assign) else n.target) in taken
    )
    return taken | {n.attr for value in filled for n in walk(value) if isinstance(n, ast.Attribute)}


def _is_index(node: ast.expr, index: set[str]) -> bool:
    """Whether it is the index, also as a part of a longer round: `index % len(self.names)`, `index // views`."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.FloorDiv)):
        node = node.left
    return last_name(node) in index


def _own_method(info: ClassInfo, node: ast.Call) -> FunctionInfo | None:
    """The method of the same object that is called."""
    own = isinstance(node.func, ast.Attribute) and last_name(node.func.value) == "self"
    return info.methods.get(last_name(node.func)) if own else None


def _handed_on(called: FunctionInfo, node: ast.Call, index: set[str]) -> Iterator[tuple[FunctionInfo, set[str]]]:
    """A method of the same object that is given the index, with the name under which it gets it."""
    names = [parameter.arg for parameter in called.parameters[1:]]
    got = {name for name, given in zip(names, node.args, strict=False) if _is_index(given, index)}
    if got:
        yield called, got
