"""Variables that something brings together over the ranks, and numbers that are computed beside them of one rank's
data: where an evaluation reduces its accuracy, its loss may still be that of one share."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Iteration
from ddpdoctor.lint.knowledge import collectives, heuristics, vocabulary
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of


class Span(NamedTuple):
    """Lines of a file, from the first to the last."""

    module: Module
    first: int
    last: int


#: where a collective of torch puts what it brings together: the place of the argument, and its names
_INTO = {
    "gather": (1, ("gather_list",)),
    "gather_object": (1, ("object_gather_list",)),
    "all_gather": (0, ("tensor_list",)),
    "all_gather_object": (0, ("object_list",)),
    "all_gather_into_tensor": (0, ("output_tensor",)),
    "all_reduce": (0, ("tensor",)),
    "reduce": (0, ("tensor",)),
}
#: methods that give the same storage, or a part of it
_VIEWS = frozenset({
    "detach", "view", "reshape", "to", "cuda", "cpu", "float", "double", "contiguous", "squeeze", "unsqueeze",
    "flatten", "numpy", "values", "items", "get",
})  # fmt: skip
#: methods that add a value to what an object has summed up or collected
_ADDING = frozenset({"update", "append", "extend", "add"})


def is_beside(facts: ModuleFacts, call: CallEvent, iteration: Iteration, spans: list[Span]) -> bool:
    """Whether one of the numbers that a call tells was summed up in the loop of what no collective has touched. Only
    where the loop is in the call's function, or in one whose results this assigns; False if it cannot be told."""
    depth = len(call.context.chain)
    between = iteration.context.chain[depth:]
    module = call.context.module
    function = call.context.function
    if len(between) > 1 or len(spans) != len(between) + 1 or function is None:
        return False
    scope: ast.AST = function.node
    skipped = between[0] if between else None
    # what an evaluation has given is told by what follows it
    lines = range(between[0].end_line + 1, call.site.end_line + 1) if between else None
    touched = _touched(facts, scope, spans[0], skipped)
    if touched is None:
        return False
    parts = [own for part in _told(call.node) if not (own := _sources(scope, _names(part), lines)) & touched]
    if between:
        evaluation = innermost_function(spans[1].module.tree, iteration.loop.site.line)
        results = [_result_names(module, scope, evaluation, between[0], own) for own in parts]
        touched = _touched(facts, evaluation, spans[1], None) if evaluation is not None else None
        if touched is None or evaluation is None:
            return False
        inside = [_sources(evaluation, names) for names in results]
        parts = [own for own in inside if not own & touched]
        scope = evaluation
    return any(_is_summed_up(iteration.loop.node, own) for own in parts)


def _told(call: ast.Call) -> Iterator[ast.expr]:
    """The parts of what is told: those of a text one by one."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(argument, ast.JoinedStr):
            yield from (part.value for part in argument.values if isinstance(part, ast.FormattedValue))
        elif isinstance(argument, ast.Call) and last_name(argument.func) == "format":
            yield from _told(argument)
        elif isinstance(argument, ast.Dict):
            yield from argument.values
        else:
            yield argument


def _result_names(
    module: Module, scope: ast.AST, evaluation: ast.AST | None, site: SourceSite, told: set[str]
) -> set[str]:
    """What an evaluation returns as the variables that are told."""
    if evaluation is None:
        return set()
    for node in walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and site_of(module, node.value) == site:
            returned = [n.value for n in walk(evaluation) if isinstance(n, ast.Return) and n.value is not None]
            return {name for target in node.targets for name in _returned_as(target, returned, told)}
    return set()


def _returned_as(target: ast.expr, returned: list[ast.expr], told: set[str]) -> Iterator[str]:
    for value in returned:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) == len(value.elts):
                pairs = zip(target.elts, value.elts, strict=True)
                yield from (name for one, part in pairs if _names(one) & told for name in _names(part))
        elif _names(target) & told:
            yield from _names(value)


def _is_summed_up(loop: ast.AST, own: set[str]) -> bool:
    """Whether a loop adds to one of the variables what comes of its batches."""
    target = getattr(loop, "target", None)
    if target is None:
        return False
    batch = _names(target)
    for node in walk(loop):
        if isinstance(node, ast.AugAssign) and _names(node.target) & own and _sources(loop, _names(node.value)) & batch:
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
            added = {name for argument in node.args for name in _names(argument)}
            if _names(node.func.value) & own and _sources(loop, added) & batch:
                return True
    return False


# what is touched ------------------------------------------------------------------------------------------------------


def _touched(facts: ModuleFacts, scope: ast.AST, span: Span, skipped: SourceSite | None) -> set[str] | None:
    """The variables of a function that something in these lines brings together, with what shares their storage and
    those that take the result; None if that is not known."""
    calls = {
        site: node
        for node in walk(scope)
        if isinstance(node, ast.Call) and span.first <= (site := site_of(span.module, node)).line <= span.last
    }
    altered: dict[SourceSite, set[str]] = {}
    for way in _ways(facts, span):
        site = way[0]
        names = _by_way(facts, way, calls[site]) if site in calls else None
        if names is None and site != skipped:
            return None
        if names is not None and site != skipped:
            altered.setdefault(site, set()).update(names)
    altered |= _by_name({site: node for site, node in calls.items() if site != skipped}, altered)
    found = _sharing(scope, {name for names in altered.values() for name in names})
    found |= {name for site in altered for name in _taking(scope, calls[site])}
    return None if found & {"self", "cls"} else found


def _by_name(calls: dict[SourceSite, ast.Call], known: dict[SourceSite, set[str]]) -> dict[SourceSite, set[str]]:
    """What calls alter that may bring results together by their names: what alters nothing in one place does not in
    another that was not reached."""
    pure = {last_name(calls[site].func) for site, names in known.items() if not names}
    return {
        site: set() if last_name(node.func) in pure else _handed(node)
        for site, node in calls.items()
        if site not in known and heuristics.PUTS_TOGETHER.found_in(last_name(node.func))
    }


def _ways(facts: ModuleFacts, span: Span) -> Iterator[tuple[SourceSite, ...]]:
    """The calls that lead from these lines to something that brings results together."""
    for item in facts.reached:
        index = item.within(span.module.path, span.first, span.last)
        if item.op.op in collectives.PUTTING_TOGETHER and index is not None:
            yield item.way[index:]


def _by_way(facts: ModuleFacts, way: tuple[SourceSite, ...], node: ast.Call) -> set[str] | None:
    """What of the arguments of a call is altered by the collective that it leads to."""
    if len(way) == 1:
        return _altered(facts, way[0], node)
    module = blocks.module_of(facts, way[1])
    function = innermost_function(module.tree, way[1].line) if module is not None else None
    if module is None or function is None:
        return None
    inner = next((n for n in module.of(ast.Call) if site_of(module, n) == way[1]), None)
    names = _by_way(facts, way[1:], inner) if inner is not None else None
    if names is None:
        return None
    given = {argument.arg for argument in walk(function) if isinstance(argument, ast.arg)}
    shared = {name.partition(".")[0] for name in _sharing(function, names)}
    return _handed(node) if shared & given else set()


def _altered(facts: ModuleFacts, site: SourceSite, node: ast.Call) -> set[str]:
    """What a collective of torch writes into; of another one, all that it is given."""
    module = blocks.module_of(facts, site)
    path = module.imported(node.func) or "" if module is not None else ""
    place, words = _INTO.get(last_name(node.func), (-1, ()))
    if not path.startswith("torch.distributed.") or place < 0:
        return _handed(node)
    named = [keyword.value for keyword in node.keywords if keyword.arg in words]
    given = named or node.args[place : place + 1]
    return {name for value in given for name in _names(value)} if given else _handed(node)


def _handed(node: ast.Call) -> set[str]:
    """The variables that a call is given, and the one whose method it is."""
    given: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node.func, ast.Attribute):
        given.append(node.func.value)
    return {name for value in given for name in _names(value)}


def _taking(scope: ast.AST, call: ast.Call) -> set[str]:
    """The variables that take what comes of a call."""
    around = [(targets, value) for node in walk(scope) for targets, value in _steps(node) if call in walk(value)]
    return {name for targets, _ in around for name in targets}


def _sharing(scope: ast.AST, names: set[str]) -> set[str]:
    """The variables, and those that may share their storage: `{"loss": loss}` has the tensor itself."""
    nodes = (n for n in walk(scope) if not isinstance(n, ast.AugAssign) or isinstance(n.op, ast.Add))
    return _with_all(names, [(targets, _shared(value)) for node in nodes for targets, value in _steps(node)])


def _with_all(names: set[str], steps: list[tuple[set[str], set[str]]]) -> set[str]:
    """The variables, and, from step to step, those of the second set where one of the first is among them."""
    found, known = set(names), -1
    while known < len(found):
        known = len(found)
        for targets, given in steps:
            if targets & found:
                found |= given
    return found


def _shared(value: ast.AST) -> set[str]:
    """The variables whose storage a value may share."""
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        return _names(value)
    if isinstance(value, ast.Call):
        viewed = isinstance(value.func, ast.Attribute) and value.func.attr in _VIEWS
        return _names(value.func) if viewed else _names(value) if last_name(value.func) in _OVER else set()
    if isinstance(value, (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.IfExp, ast.ListComp, ast.DictComp)):
        return {name for part in ast.iter_child_nodes(value) for name in _shared(part)}
    return set()


#: functions that give the elements of what they are given
_OVER = frozenset({"enumerate", "zip", "list", "tuple", "dict", "as_tensor", "from_numpy"})


# where values come from -----------------------------------------------------------------------------------------------


def _sources(scope: ast.AST, names: set[str], lines: range | None = None) -> set[str]:
    """The variables, and those that their values come from, by what stands in some lines of it."""
    nodes = (node for node in walk(scope) if lines is None or getattr(node, "lineno", lines.start) in lines)
    steps = [(targets, _names(value)) for node in nodes for targets, value in (*_steps(node), *_filling(node))]
    return _with_all(names, steps)


def _steps(node: ast.AST) -> Iterator[tuple[set[str], ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _assigned(target, node.value)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield _names(node.target), node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield _names(node.target), node.iter


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[set[str], ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from _assigned(one, part)
    else:
        yield _names(target), value


def _filling(node: ast.AST) -> Iterator[tuple[set[str], ast.expr]]:
    """A call for its effect, which may fill what it is given, and what it is a method of; to tell numbers, or to bring
    them together, puts nothing of one variable into another."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and not _keeps_apart(last_name(call.func)):
        yield _handed(call), call


def _keeps_apart(name: str) -> bool:
    return heuristics.TELLS.found_in(name) or heuristics.PUTS_TOGETHER.found_in(name)


def _names(node: ast.AST) -> set[str]:
    """The variables of an expression, and `self.name` as one; without those whose extent alone is asked."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
        return {f"{node.value.id}.{node.attr}"}
    return {name for part in _parts(node) for name in _names(part)}


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that its value comes from."""
    if isinstance(node, ast.Call):
        if last_name(node.func) not in _EXTENTS:
            yield from node.args
            yield from (keyword.value for keyword in node.keywords)
            yield from [node.func.value] if isinstance(node.func, ast.Attribute) else []
    elif not (isinstance(node, ast.Attribute) and node.attr == "shape"):
        yield from ast.iter_child_nodes(node)


#: what tells how much there is, and nothing of what it is
_EXTENTS = vocabulary.EXTENTS | {"len"}
