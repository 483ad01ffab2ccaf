"""Code that also runs as one process without a process group: it says so by asking whether there is one."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.knowledge import collectives, frameworks, heuristics, vocabulary
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

_C10D = "torch.distributed."
_AVAILABLE = "torch.distributed.is_available"
#: these make the group, name another one, or need none
_OTHERS = frozenset({"init_process_group", "send", "recv", "isend", "irecv", "new_group"})


def needs_group(name: str) -> bool:
    """Whether what is called is a collective of torch on the default group, or a wrapper that runs one."""
    if name in collectives.WRAPPERS:
        return True
    spec = collectives.COLLECTIVES.get(name)
    mine = name.startswith(_C10D) and name.count(".") == 2
    return mine and spec is not None and spec.op not in _OTHERS


def unguarded(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether no condition that may be about the process group is on the way to the call, as far as it is visible."""
    if any(_about_group(guard) for guard in call.context.guards) or call.context.handler:
        return False
    for site in (*call.context.chain, call.site):
        module = blocks.module_of(facts, site)
        function = innermost_function(module.tree, site.line) if module is not None else None
        if module is None or (function is not None and function.decorator_list):
            return False
        tests = [test for node in blocks.around(module, site) if (test := _test(node)) is not None]
        tests += [node.test for node, _ in blocks.before(module, site)]
        if any(heuristics.ABOUT_GROUP.found_in(text_of(test)) for test in tests):
            return False
    return True


def _test(node: ast.AST) -> ast.expr | None:
    return node.test if isinstance(node, (ast.If, ast.IfExp)) else node if isinstance(node, ast.expr) else None


def _about_group(guard: Guard) -> bool:
    return len(guard.truth) == 1 and heuristics.ABOUT_GROUP.found_in(guard.text)


def refuses_several(facts: ModuleFacts, way: Iterable[SourceSite]) -> bool:
    """Whether the program goes this way, a call and those that lead to it, only if there is one rank, or makes it so:
    `assert world_size == 1`, `assert local_rank == -1`."""
    ways = ((blocks.module_of(facts, site), site) for site in way)
    return any(module is not None and _is_refused_before(module, site.line) for module, site in ways)


def starts_ranks_later(facts: ModuleFacts, site: SourceSite) -> bool:
    """Whether the function around a place starts the ranks after it: until then there is one process."""
    module = blocks.module_of(facts, site)
    function = innermost_function(module.tree, site.line) if module is not None else None
    calls = (node for node in walk(function) if isinstance(node, ast.Call)) if function is not None else ()
    return module is not None and any(
        node.lineno > site.line and module.imported(node.func) in frameworks.SPAWNING for node in calls
    )


@once
def _is_refused_before(module: Module, line: int) -> bool:
    """Whether a statement before a line, in its function, ends the program where there are several ranks."""
    scope: ast.AST = innermost_function(module.tree, line) or module.tree
    for statement in blocks.passed(scope, line):
        if any(map(_sets_one, walk(statement))):
            return True
        if isinstance(statement, ast.Assert) and _is_alone(scope, statement.test, _ASSERTED, ast.Eq):
            return True
        ends = isinstance(statement, ast.If) and blocks.leaves(statement.body[-1])
        if ends and isinstance(statement, ast.If) and _is_alone(scope, statement.test, _REFUSED, ast.NotEq):
            return True
    return False


def _is_alone(scope: ast.AST, test: ast.expr, orders: Mapping[type[ast.cmpop], int], to_none: type[ast.cmpop]) -> bool:
    """Whether a condition compares the number of ranks in one of these ways, or the rank so with -1, which it is where
    there is no group."""
    if _compares_size(scope, test, orders):
        return True
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], to_none):
        return False
    sides = (test.left, test.comparators[0])
    return "-1" in map(text_of, sides) and any(heuristics.NUMBERS_RANK.found_in(_called(side)) for side in sides)


def is_regrouped(facts: ModuleFacts, way: Iterable[SourceSite]) -> bool:
    """Whether the program divides the ranks before it goes this way, and each part makes a group of its own:
    `os.environ["WORLD_SIZE"] = str(int(os.environ["WORLD_SIZE"]) // 2)`."""
    for site in way:
        module = blocks.module_of(facts, site)
        scope = (innermost_function(module.tree, site.line) or module.tree) if module is not None else None
        for statement in blocks.passed(scope, site.line) if scope is not None else ():
            sizes = (value for node in walk(statement) if (value := _size_set(node)) is not None)
            if any(isinstance(part, ast.Constant) and part.value == _SIZE for value in sizes for part in walk(value)):
                return True
    return False


_SIZE = "WORLD_SIZE"


def _size_set(node: ast.AST) -> ast.expr | None:
    """What the number of ranks is set to from which a group is made: `os.environ["WORLD_SIZE"] = ...`."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if not isinstance(node, ast.Assign) or not isinstance(target, ast.Subscript):
        return None
    key = target.slice if last_name(target.value) == "environ" else None
    return node.value if isinstance(key, ast.Constant) and key.value == _SIZE else None


def _sets_one(node: ast.AST) -> bool:
    """Whether the group that is made from the environment has this rank alone."""
    size = _size_set(node)
    return isinstance(size, ast.Constant) and size.value == "1"


#: how the number of ranks is compared, and with what, in an assertion and where the program ends
_ASSERTED: dict[type[ast.cmpop], int] = {ast.Eq: 1, ast.LtE: 1, ast.Lt: 2}
_REFUSED: dict[type[ast.cmpop], int] = {ast.NotEq: 1, ast.Gt: 1, ast.GtE: 2}


def _compares_size(scope: ast.AST, test: ast.expr, orders: Mapping[type[ast.cmpop], int]) -> bool:
    """Whether a condition compares the number of ranks, perhaps kept in a variable, in one of these ways."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    number, limit = test.comparators[0], orders.get(type(test.ops[0]))
    if limit is None or not isinstance(number, ast.Constant) or number.value != limit:
        return False
    name = test.left.id if isinstance(test.left, ast.Name) else ""
    kept = [n.value for n in walk(scope) if isinstance(n, ast.Assign) and name and last_name(n.targets[0]) == name]
    return any(heuristics.COUNTS_RANKS.found_in(_called(value)) for value in (test.left, *kept))


def _called(value: ast.expr) -> str:
    """The name of a variable, an attribute, or a function that is asked for nothing in particular; "" of the rest."""
    if isinstance(value, ast.Call):
        return last_name(value.func) if not value.args and not value.keywords else ""
    return last_name(value)


def available_only(facts: ModuleFacts, call: CallEvent) -> SourceSite | None:
    """The condition on `is_available()` under which the call stands, if no other condition is on the group."""
    if call.context.handler or call.context.some_ranks_only:
        return None
    found: SourceSite | None = None
    for site in (*call.context.chain, call.site):
        module = blocks.module_of(facts, site)
        if module is None:
            return None
        for test in (test for node in blocks.around(module, site) if (test := _test(node)) is not None):
            asking = [n for n in walk(test) if isinstance(n, ast.Call) and module.imported(n.func) == _AVAILABLE]
            if _asks_more(test, asking):
                return None
            found = site_of(module, asking[0]) if asking else found
        if any(heuristics.ABOUT_GROUP.found_in(text_of(node.test)) for node, _ in blocks.before(module, site)):
            return None
    return found


def _asks_more(test: ast.expr, asking: list[ast.Call]) -> bool:
    """Whether a condition is on the group, beside the calls that ask whether there is the library."""
    rest = text_of(test)
    for node in asking:
        rest = rest.replace(text_of(node), "")
    return heuristics.ABOUT_GROUP.found_in(rest)


def asked(facts: ModuleFacts, call: CallEvent) -> SourceSite | None:
    """Where the class or function of a call asks whether there is a process group, to use it elsewhere; not where it
    asks in order to make one."""
    function = call.context.function
    if function is None or function.module.path != facts.module.path:
        return None
    scope: ast.AST = function.owner.node if function.owner is not None else function.node
    for test, body in _tests(scope):
        if not heuristics.ASKS_FOR_GROUP.found_in(text_of(test)) or any(_makes_group(node) for node in body):
            continue
        if any(_uses_group(facts, node) for node in body):
            return site_of(facts.module, test)
    return None


def helped(facts: ModuleFacts, call: CallEvent) -> SourceSite | None:
    """Where its function gets the rank and the number of ranks from a helper that copes without a group."""
    function = call.context.function
    if function is None or function.module.path != facts.module.path:
        return None
    return _helper(facts, function.node)


def _tests(scope: ast.AST) -> Iterator[tuple[ast.expr, list[ast.AST]]]:
    """(condition, what runs where it holds or does not)."""
    for node in walk(scope):
        if isinstance(node, (ast.If, ast.IfExp)):
            sides = (node.body, node.orelse)
            inside = [n for side in sides for part in (side if isinstance(side, list) else [side]) for n in walk(part)]
            yield node.test, inside


def _uses_group(facts: ModuleFacts, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    path = facts.module.imported(node.func) or ""
    return path in collectives.WRAPPERS or (path.startswith(_C10D) and path in collectives.COLLECTIVES)


def _makes_group(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and heuristics.MAKES_GROUP.found_in(last_name(node.func))


def _helper(facts: ModuleFacts, function: ast.AST) -> SourceSite | None:
    """A call of the project's own helper for the rank and the number of ranks, which copes without a group."""
    for node in walk(function):
        if isinstance(node, ast.Call) and heuristics.TELLS_RANKS.found_in(last_name(node.func)):
            known = facts.module.imported(node.func) in vocabulary.COPING_CALLS
            if known or any(_copes(module, last_name(node.func)) for module in facts.modules):
                return site_of(facts.module, node)
    return None


def _copes(module: Module, name: str) -> bool:
    infos = [info for info in module.functions if info.name == name]
    return any("is_initialized" in text_of(info.node) for info in infos)
