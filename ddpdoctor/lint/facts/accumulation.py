"""Backward passes whose gradients are added up before one step of the optimizer, each averaged over the ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.facts import blocks, exclusion, loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import contexts, wrapping
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop
from ddpdoctor.lint.knowledge import collectives, frameworks, heuristics
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import FUNCTIONS, innermost_function
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite


class Accumulated(NamedTuple):
    """A backward pass that a loop repeats, and the step that comes after several of its turns."""

    backward: CallEvent
    step: CallEvent
    loop: EnclosingLoop
    #: the step is made in some turns of the loop, and not behind it: perhaps in all of them, as an option says
    in_turns: bool


def found(facts: ModuleFacts) -> list[Accumulated]:
    """Of each loop, one backward pass through torch's wrapper that several micro-batches go through for each step."""
    steps = [call for call in facts.methods("step") if updates(call)]
    by_loop: dict[SourceSite, Accumulated] = {}
    for call in facts.methods("backward") if steps else ():
        one = _accumulated(facts, call, steps)
        if one is None:
            continue
        # one loop may go back in a helper, too, as with mixed precision
        known = by_loop.get(one.loop.site)
        if known is None or _is_at_hand(one) > _is_at_hand(known):
            by_loop[one.loop.site] = one
    return list(by_loop.values())


def _is_at_hand(one: Accumulated) -> bool:
    return one.backward.site.file == one.loop.site.file


def _accumulated(facts: ModuleFacts, call: CallEvent, steps: list[CallEvent]) -> Accumulated | None:
    loop = call.context.loops[-1] if call.context.loops else None
    if loop is None or not _averages(call) or not isinstance(loop.node, (ast.For, ast.While)):
        return None
    if loaders.runs_once(loop) or not _goes_forward(facts, call, loop):
        return None
    steps = [u for u in steps if not exclusion.contradict((*call.context.guards, *u.context.guards))]
    inside = [u for u in steps if any(around.site == loop.site for around in u.context.loops)]
    if inside:
        return Accumulated(call, inside[0], loop, True) if _in_turns(facts, call, inside, loop) else None
    behind = next((u for u in steps if _is_behind(call, u, loop)), None)
    return Accumulated(call, behind, loop, False) if behind is not None else None


def _averages(call: CallEvent) -> bool:
    """Whether it surely averages the gradients of a network that is whole on each rank."""
    tags = call.receiver.tags if call.receiver is not None else 0
    withs = call.context.withs
    unshared = contexts.MAYBE_UNSHARED in withs or any(name in withs for name in frameworks.UNSHARED)
    return bool(tags & Tag.DDP) and not tags & Tag.SHARDED and not unshared and not call.context.some_ranks_only


def _goes_forward(facts: ModuleFacts, backward: CallEvent, loop: EnclosingLoop) -> bool:
    """Whether each turn also goes forward through torch's wrapper, and through the same one."""
    target = loop.node.target if isinstance(loop.node, ast.For) else None
    turned = names_in(target) if target is not None else set()
    for call in facts.methods("__call__"):
        if call.index > backward.index or not any(around.site == loop.site for around in call.context.loops):
            continue
        made = call.receiver.object if call.receiver is not None else None
        other = isinstance(made, Made) and made.path in collectives.WRAPPERS and not made.path.startswith("torch.")
        named = names_in(call.node.func)
        if wrapping.is_wrapped(call.receiver) and not other and not named & turned:
            return True
    return False


def updates(call: CallEvent) -> bool:
    """Whether it makes a step of an optimizer, perhaps by a gradient scaler."""
    made = call.receiver.object if call.receiver is not None else None
    path = made.path if isinstance(made, Made) else ""
    if path.startswith("torch.optim."):
        return not path.startswith("torch.optim.lr_scheduler.")
    if path.rpartition(".")[2] == "GradScaler":
        return True
    func = call.node.func
    owner = func.value if isinstance(func, ast.Attribute) else None
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    return owner is not None and heuristics.OPTIMIZES.found_in(last_name(owner))


def _is_behind(backward: CallEvent, update: CallEvent, loop: EnclosingLoop) -> bool:
    """Whether the step is made after the loop that holds the backward pass, in what runs the loop: for each time that
    a loop around both comes there."""
    around = [one.site for one in backward.context.loops[:-1]]
    if not around or [one.site for one in update.context.loops] != around or update.index < backward.index:
        return False
    for mine, other in zip(_way(backward), _way(update), strict=False):
        if mine != other:
            return _holds(loop, mine) and other.file == loop.site.file and other.line > _last_line(loop)
    return False


def _way(call: CallEvent) -> tuple[SourceSite, ...]:
    return (*call.context.chain, call.site)


def _holds(loop: EnclosingLoop, site: SourceSite) -> bool:
    return site.file == loop.site.file and loop.site.line <= site.line <= _last_line(loop)


def _last_line(loop: EnclosingLoop) -> int:
    return getattr(loop.node, "end_lineno", None) or loop.site.line


class _Turn(NamedTuple):
    """A condition that holds in some turns of a loop, and on which of its sides something is."""

    node: ast.AST
    side: bool


def _in_turns(facts: ModuleFacts, backward: CallEvent, updates: list[CallEvent], loop: EnclosingLoop) -> bool:
    """Whether all steps in the loop are only made every so many turns, and the backward pass in each of them."""
    shared = {turn.node for turn in _turns(facts, backward, loop)}
    turns = [{turn for turn in _turns(facts, update, loop) if turn.node not in shared} for update in updates]
    every = set().union(*turns)
    # two optimizers that take turns leave no turn without a step
    return all(turns) and not any(_Turn(turn.node, not turn.side) in every for turn in every)


def _turns(facts: ModuleFacts, call: CallEvent, loop: EnclosingLoop) -> Iterator[_Turn]:
    """Conditions in the loop on the number of the turn that lead to a call."""
    way, above, inside = _way(call), None, False
    for site in way:
        within = _holds(loop, site)
        module = blocks.module_of(facts, site)
        if module is not None and (inside or within):
            for node, side in _conditions(module, site, None if inside else loop):
                if _counts(facts, module, node.test, site, above):
                    yield _Turn(node, side)
        inside, above = inside or within, site


def _conditions(module: Module, site: SourceSite, loop: EnclosingLoop | None) -> Iterator[tuple[ast.If, bool]]:
    """Conditions around a place and before it, with the side that leads there; those in the loop, if it is given."""
    for node in blocks.around(module, site):
        if isinstance(node, ast.If) and (loop is None or node.lineno >= loop.site.line):
            yield node, node.body[0].lineno <= site.line <= (node.body[-1].end_lineno or 0)
    for node, exit_ in blocks.before(module, site):
        if loop is None or (node.lineno >= loop.site.line and isinstance(exit_, ast.Continue)):
            yield node, exit_ not in node.body


def _counts(facts: ModuleFacts, module: Module, test: ast.expr, site: SourceSite, above: SourceSite | None) -> bool:
    """Whether a condition is on every so many turns: `(step + 1) % every == 0`, or a variable or argument that is."""
    if _has_remainder(test):
        return True
    function = innermost_function(module.tree, site.line)
    names = names_in(test)
    scope: ast.AST = function or module.tree
    if any(_has_remainder(value) for value in _assigned(scope, names)):
        return True
    given = _call_at(facts, above) if above is not None and isinstance(function, FUNCTIONS) else None
    return given is not None and any(map(_has_remainder, _passed(given, function, names)))


def _assigned(scope: ast.AST, names: set[str]) -> Iterator[ast.expr]:
    for node in walk(scope):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets):
            yield node.value


def _call_at(facts: ModuleFacts, site: SourceSite) -> ast.Call | None:
    module = blocks.module_of(facts, site)
    calls: Iterable[ast.Call] = module.of(ast.Call) if module is not None else ()
    return next((c for c in calls if (c.lineno, c.col_offset + 1) == (site.line, site.column)), None)


def _passed(call: ast.Call, function: ast.AST | None, names: set[str]) -> Iterator[ast.expr]:
    """What a call gives to parameters of these names."""
    yield from (keyword.value for keyword in call.keywords if keyword.arg in names)
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        own = [a.arg for a in function.args.args]
        own = own[1:] if own[:1] == ["self"] else own
        yield from (value for name, value in zip(own, call.args, strict=False) if name in names)


def _has_remainder(test: ast.expr) -> bool:
    """Whether a remainder is in it, of something other than a text that is filled in, or a division by one."""
    return any(
        isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Mod)
        and not isinstance(n.left, (ast.Constant, ast.JoinedStr))
        and not (isinstance(n.right, ast.Constant) and n.right.value == 1)
        for n in walk(test)
    )
