"""What a loop over a loader is for: whether it trains on what it gets, or only evaluates it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import batches
from ddpdoctor.lint.interpreter.events import Context, EnclosingLoop, Iteration
from ddpdoctor.lint.knowledge import heuristics, vocabulary
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite

#: the method of those that train which changes weights
_STEP = "step"
#: methods by which a program changes weights by hand
_IN_PLACE = frozenset({"add_", "sub_", "mul_", "copy_", "lerp_", "addcmul_", "addcdiv_"})


def trains(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether the loop goes back over what it gets, itself or in a function that it certainly calls."""
    itself = loaders.trains(iteration.loop) and not _trains_otherwise(facts, iteration)
    return itself or _trains_by_call(facts, iteration)


def _trains_otherwise(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether the loop goes back where its function is called in another way, and not in this one:
    `one_epoch(training=False)`."""
    node, chain = iteration.loop.node, iteration.context.chain
    inside = [call for call in facts.calls if any(loop.node is node for loop in call.context.loops)]
    trained = {call.context.chain[: len(chain)] for call in inside if call.method in vocabulary.TRAINING}
    return bool(trained) and chain not in trained and any(c.context.chain[: len(chain)] == chain for c in inside)


def evaluates(facts: ModuleFacts, iteration: Iteration, epochs: EnclosingLoop) -> bool:
    """Whether the network is put into evaluation inside the epoch loop before the loader is iterated, and nothing is
    trained there: the order of what is evaluated does not matter. What goes back without a step, in a function that the
    loop calls, attacks what is evaluated."""
    loop = iteration.loop.node
    # perhaps by a function that the loop calls
    called = {
        call.method for call in facts.methods(*vocabulary.TRAINING) if any(i.node is loop for i in call.context.loops)
    }
    if _STEP in called:
        return False
    if isinstance(loop, ast.For) and not called and _only_evaluates(epochs.node, loop):
        return True
    for site in (*iteration.context.chain, iteration.loop.site):
        module = blocks.module_of(facts, site)
        function = innermost_function(module.tree, site.line) if module is not None else None
        if function is None or _contains(function, epochs.node):
            continue
        if batches.mode_before(function, site.line) == "eval" and vocabulary.TRAINING.isdisjoint(_methods(function)):
            return True
    return False


def evaluates_by_call(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether a function that the loop calls puts the network into evaluation and computes without gradients, and
    nothing that is in sight trains there."""
    inside = [call for call in facts.calls if call.method and _within(call.context, iteration)]
    methods = {call.method for call in inside} | _methods(iteration.loop.node)
    if "train" in methods or not vocabulary.TRAINING.isdisjoint(methods):
        return False
    without = [call.context.chain for call in inside if call.context.no_grad]
    evaluating = [call.context.chain for call in inside if call.method == "eval"]
    return any(chain[: len(by)] == by for by in evaluating for chain in without)


def computes_only(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether a network computes in the loop, without gradients, and nothing trains there."""
    inside = [call for call in facts.methods("__call__", *vocabulary.TRAINING) if _within(call.context, iteration)]
    forward = any(call.method == "__call__" and call.context.no_grad for call in inside)
    return forward and all(call.method == "__call__" for call in inside)


def evaluates_this_time(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether the loop trains where its function is called in another way, and only computes without gradients in this
    one: `one_epoch(loader, training=False)`."""
    return computes_only(facts, iteration) and _trains_otherwise(facts, iteration)


def measures(facts: ModuleFacts, iteration: Iteration, epochs: EnclosingLoop) -> bool:
    """Whether the loop goes back only to read the gradients, as of the importance of some layers: nothing in the epoch
    loop changes weights, so the order of what is measured does not matter."""
    module = blocks.module_of(facts, iteration.loop.site)
    function = innermost_function(module.tree, iteration.loop.site.line) if module is not None else None
    nodes = [*walk(epochs.node), *walk(function if function is not None else iteration.loop.node)]
    if not any(map(_reads_gradient, nodes)) or not trains(facts, iteration):
        return False
    called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    events = (call for call in facts.calls if any(loop.node is epochs.node for loop in call.context.loops))
    called.update(call.method or call.path.rpartition(".")[2] for call in events)
    by_hand = not _IN_PLACE.isdisjoint(called) or any(map(_subtracts, nodes))
    return not by_hand and not heuristics.CHANGES_WEIGHTS.found_in_any(called)


def attacks(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether the loop goes back only in functions that read the gradients of what they are given, and nothing that it
    calls takes a step or goes through parameters: it attacks what it evaluates, in this run or in another one."""
    node = iteration.loop.node
    inside = [call for call in facts.calls if any(loop.node is node for loop in call.context.loops)]
    back = [call.context.function for call in inside if call.method == "backward"]
    called = {call.method or call.path.rpartition(".")[2] for call in inside}
    if not back or any(_STEP in name or name in _PARAMETERS for name in called):
        return False
    here = iteration.context.function
    return all(f is not None and f is not here and any(map(_reads_gradient, walk(f.node))) for f in back)


#: methods that give the weights of a network
_PARAMETERS = frozenset({"parameters", "named_parameters"})


def _is_gradient(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "grad"


def _reads_gradient(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and _is_gradient(node) and isinstance(node.ctx, ast.Load)


def _subtracts(node: ast.AST) -> bool:
    """Whether it is a step against the gradient, or stores what a parameter holds: `w = w - rate * w.grad`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "data" and isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Sub) and any(map(_is_gradient, walk(node.right)))
    return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub) and any(map(_is_gradient, walk(node.value)))


def _trains_by_call(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether a function that the loop calls certainly goes back over what the loop gets: `backward` was met there
    under no condition that is open, or on both sides of one."""
    inside = [call for call in facts.methods("backward") if _within(call.context, iteration)]
    opened = [frozenset(_opened(call.context, iteration)) for call in inside]
    for conditions in opened:
        if not conditions:
            return True
        if len(conditions) == 1 and any(other == {(site, not side)} for site, side in conditions for other in opened):
            return True
    return False


def _within(context: Context, iteration: Iteration) -> bool:
    """Whether something happens in this run of the loop, and not in another one of the same lines."""
    chain = iteration.context.chain
    around = any(loop.node is iteration.loop.node for loop in context.loops)
    return around and context.chain[: len(chain)] == chain and context.mask == iteration.context.mask


def _opened(context: Context, iteration: Iteration) -> Iterator[tuple[SourceSite, bool]]:
    """The conditions on the way from the loop to what happens in it that nothing decides."""
    outside = {(guard.site, guard.side) for guard in iteration.context.guards}
    return ((g.site, g.side) for g in context.guards if (g.site, g.side) not in outside)


def _only_evaluates(epochs: ast.AST, loop: ast.For) -> bool:
    """Whether a loop that is written inside the epoch loop follows an `eval()` there, or computes without gradients."""
    if not _contains(epochs, loop) or not vocabulary.TRAINING.isdisjoint(_methods(loop)):
        return False
    contexts = (item.context_expr for node in walk(loop) if isinstance(node, ast.With) for item in node.items)
    without = any(isinstance(one, ast.Call) and last_name(one.func) in vocabulary.WITHOUT_GRADIENTS for one in contexts)
    return without or batches.mode_before(epochs, loop.lineno) == "eval"


def _methods(part: ast.AST) -> set[str]:
    return {last_name(n.func) for n in walk(part) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}


def _contains(function: ast.AST, node: ast.AST) -> bool:
    return any(part is node for part in walk(function))
