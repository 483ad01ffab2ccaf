"""The network is changed after it was wrapped

## What it does
Finds parameters that are frozen, and layers that are replaced, after the network was wrapped in
DistributedDataParallel, in code that continues training; and parameters that were frozen when it was wrapped, and are
unfrozen after, also by functions and methods of the project, by the name or the number of the part, in a loop over some
of them, and in hooks that the settings choose.

## Why it harms
The wrapper lists the parameters once, at construction, and waits in every backward pass for the gradient of each. The
gradient of a frozen parameter never arrives: "Expected to have finished reduction in the prior iteration". A new layer
is not in the list: its gradients silently stay on their own rank. Neither is a parameter that has `requires_grad=False`
then: once it is trained, each rank trains its own copy, and what rank 0 saves is one of them.

## Example
```python
model = DistributedDataParallel(net)
model.module.head = torch.nn.Linear(512, 10)
for p in model.module.backbone.parameters():
    p.requires_grad = False
```

## Use instead
```python
net.head = torch.nn.Linear(512, 10)
for p in net.backbone.parameters():
    p.requires_grad = False
model = DistributedDataParallel(net)
```

## Fix safety
No automatic fix.

## When it is wrong
With `find_unused_parameters=True` freezing works and is not reported. A network of which all parameters are frozen is a
teacher, which never runs backward, and is not reported. Code that unfreezes parameters again or wraps the network again
is not reported either, nor, of what is unfrozen, code that averages gradients itself. Where a number chooses a layer,
some layer of the same list was frozen: it is taken to be that one. `torch.compile` of a wrapped
model is the right order and is not reported.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import averaged_gradients, exclusion, frozen_parts
from ddpdoctor.lint.facts.frozen_parts import Switch
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.facts.network_parts import Part, Parts, contains
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made, Method
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import names_in, walk

#: methods that give back the layer itself
_MOVES = ("to", "cuda", "half", "bfloat16", "float", "train", "eval")
RULE = LintRule(
    "DD162",
    "late-conversion",
    Severity.WARNING,
    advice="freeze and replace before the model is wrapped, and wrap it again once more of it is trained",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Freezing, unfreezing and new layers after wrapping."""
    if not facts.analysis.wrapped:
        return
    yield from _thawed(facts)
    if not _thaws(facts):
        yield from _frozen(facts)
    yield from _replaced(facts)


def _frozen(facts: ModuleFacts) -> Iterator[Finding | None]:
    message = "DistributedDataParallel waits for these gradients: freeze parameters before wrapping the model"
    for call in facts.methods("requires_grad_"):
        value = call.argument(0, "requires_grad")
        made = _behind(call.receiver)
        if made is None or value is None or value.constant is not False or _is_whole(call.receiver):
            continue
        if _trains_on(facts, made, call.index):
            yield facts.finding(RULE, call.site, message, related=((made.site, "wrapped here"),), context=call.context)
    for iteration in facts.iterations:
        over = iteration.loop.over
        obj = over.object if over is not None else None
        named = isinstance(obj, Made) and obj.path in ("?.parameters", "?.named_parameters") and bool(obj.args)
        made = _behind(obj.args[0]) if isinstance(obj, Made) and named else None
        place = _freezes(iteration.loop.node) if made is not None else None
        if place is not None and isinstance(obj, Made) and _whole(obj, iteration.loop.node):
            continue
        if made is not None and place is not None and _trains_on(facts, made, iteration.index):
            here = place if iteration.loop.site.file == facts.module.path else iteration.loop.site
            yield facts.finding(RULE, here, message, related=((made.site, "wrapped here"),), context=iteration.context)


def _whole(parameters: Made, loop: ast.AST) -> bool:
    """All parameters of the wrapped network are frozen, one after the other."""
    every = isinstance(loop, ast.For) and not any(isinstance(statement, ast.If) for statement in loop.body)
    return every and _is_whole(parameters.args[0])


def _is_whole(network: Value | None) -> bool:
    """The wrapper, or all that it wraps. If that is frozen it is a teacher, which never runs backward: a wrapper waits
    for the other gradients once one has arrived, and none does. DDP would not wrap it with nothing to train.
    """
    obj = network.object if network is not None else None
    inner = isinstance(obj, Method) and obj.name == "module" and wrapping.wrapper_of(obj.receiver) is not None
    return inner or wrapping.wrapper_of(network) is not None


def _behind(value: Value | None) -> Made | None:
    """The wrapper that a value is, or that it was reached through: `ddp`, `ddp.module`, `ddp.module.backbone`."""
    for _ in range(6):
        made = wrapping.wrapper_of(value)
        if made is not None or value is None or not isinstance(value.object, Method):
            return made
        value = value.object.receiver
    return None


def _freezes(node: ast.AST) -> ast.AST | None:
    """The statement of a loop that takes gradients from the loop's variable, on no condition but its name."""
    for statement in node.body if isinstance(node, ast.For) else ():
        inside = [statement]
        if isinstance(statement, ast.If) and isinstance(node, ast.For) and _by_name(node, statement.test):
            inside = [*statement.body, *statement.orelse]
        found = next(filter(_takes_gradients, inside), None)
        if found is not None:
            return found
    return None


def _by_name(loop: ast.For, test: ast.expr) -> bool:
    """A condition on the name of a parameter, if it consists only of the name and strings: some are frozen, or all."""
    if not isinstance(loop.target, ast.Tuple) or not isinstance(loop.target.elts[0], ast.Name):
        return False
    name, inner = loop.target.elts[0].id, {n.id for c in walk(test) if isinstance(c, ast.comprehension)
                                           for n in walk(c.target) if isinstance(n, ast.Name)}  # fmt: skip
    read = names_in(test) - inner
    values = {n.id for n in walk(loop.target.elts[-1]) if isinstance(n, ast.Name)}
    texts = not any(isinstance(n, ast.Attribute) and getattr(n.value, "id", "") not in inner | {name}
                    for n in walk(test))  # fmt: skip
    return name in read and texts and not read & values


def _takes_gradients(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign) and _is_false(statement.value):
        target = statement.targets[0]
        return isinstance(target, ast.Attribute) and target.attr == "requires_grad"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func, args = statement.value.func, statement.value.args
        return isinstance(func, ast.Attribute) and func.attr == "requires_grad_" and bool(args) and _is_false(args[0])
    return False


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _trains_on(facts: ModuleFacts, made: Made, index: int) -> bool:
    """A backward pass comes after, through this wrapper as it is, which waits for every parameter."""
    unused = made.keyword("find_unused_parameters")
    if (unused is not None and unused.constant is not False) or made.opaque:
        return False
    if any(c.index > index for path in collectives.WRAPPERS for c in facts.named(path)):
        return False
    return any(c.index > index and not c.context.no_grad for c in facts.methods("backward"))


def _thaws(facts: ModuleFacts) -> bool:
    """Somewhere gradients are switched on again: that is a game of two networks, or a schedule."""
    for node in facts.module.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            if node.targets[0].attr == "requires_grad" and not _is_false(node.value):
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (
            node.func.attr == "requires_grad_" and not (node.args and _is_false(node.args[0]))
        ):  # fmt: skip
            return True
    return False


def _thawed(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Parameters that had no gradients when DDP made its list, and get them later."""
    wraps = facts.named(DDP_PATHS[0])
    parts = Parts.of(facts)
    switches = frozen_parts.switches(facts, parts) if wraps else []
    if all(switch.on is not False for switch in switches) or averaged_gradients.calls(facts):
        return
    message = (
        "DistributedDataParallel does not know these parameters, which were frozen when it wrapped the model: each "
        "rank keeps its own gradients of them"
    )
    for switch in switches:
        wrap = _last_wrap(parts, wraps, switch)
        before = [other for other in switches if wrap and other.index <= wrap.index and _is_before(other, switch)]
        if wrap is None or not frozen_parts.thaws(before, switch) or _excluded(before, wrap, switch):
            continue
        if _goes_on(facts, wrap, switch):
            related = ((wrap.site, "wrapped here"), *((b.site, "frozen here") for b in before[-1:] if b.on is False))
            yield facts.finding(RULE, switch.site, message, related=related, context=switch.context)


def _last_wrap(parts: Parts, wraps: list[CallEvent], switch: Switch) -> CallEvent | None:
    """The last wrapping of the network before a part of it is switched; None if it is wrapped again after."""
    around = [wrap for wrap in wraps if (part := _wrapped_part(parts, wrap)) and contains(part, switch.part)]
    if any(_is_after(wrap, switch) for wrap in around):
        return None
    return next((wrap for wrap in reversed(around) if _is_before(wrap, switch)), None)


def _wrapped_part(parts: Parts, wrap: CallEvent) -> Part | None:
    network = wrap.argument(0, "module")
    return parts.part(network) if network is not None else None


def _is_before(event: CallEvent | Switch, switch: Switch) -> bool:
    """Whether it happens before the switch: in the same run, or where the object is made whose method this is."""
    return event.index <= switch.index and (_in_one_run(event, switch) or _makes_object(event, switch))


def _in_one_run(event: CallEvent | Switch, switch: Switch) -> bool:
    return event.context.calls[:1] == switch.context.calls[:1]


def _makes_object(event: CallEvent | Switch, switch: CallEvent | Switch) -> bool:
    """Whether it happens in the constructor of a class whose method the other is in."""
    owner, _, method = "".join(event.context.calls[:1]).rpartition(".")
    return bool(owner) and method == "__init__" and switch.context.calls[0].startswith(f"{owner}.")


def _is_after(event: CallEvent, switch: Switch) -> bool:
    """Whether it happens after the switch, perhaps in the next iteration."""
    again = {loop.site for loop in event.context.loops} & {loop.site for loop in switch.context.loops}
    return event.index > switch.index or bool(again)


def _goes_on(facts: ModuleFacts, wrap: CallEvent, switch: Switch) -> bool:
    """Whether a backward pass follows: in the same run, or in another method of an object that has the network."""
    for call in facts.methods("backward"):
        after = _is_after(call, switch) if _in_one_run(call, switch) else _makes_object(wrap, call)
        if after and not call.context.no_grad:
            return True
    return False


def _excluded(before: list[Switch], wrap: CallEvent, switch: Switch) -> bool:
    """Whether no run comes to all of them."""
    off = next((other for other in reversed(before) if other.on is False), switch)
    return exclusion.contradict((*off.context.guards, *wrap.context.guards, *switch.context.guards))


def _replaced(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`ddp.module.head = torch.nn.Linear(...)`"""
    layers = {id(c.node): c for c in facts.calls if c.path.startswith("torch.nn.") and _is_layer(c.path)}
    for access in facts.analysis.accesses:
        made = wrapping.wrapper_of(access.owner)
        if access.name != "module" or made is None or access.site.file != facts.module.path:
            continue
        target: ast.AST = access.node
        while isinstance(facts.parents.get(target), ast.Attribute):
            target = facts.parents[target]
        statement = facts.parents.get(target)
        if target is access.node or not isinstance(statement, ast.Assign) or target not in statement.targets:
            continue
        value = statement.value
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
            value = value.func.value
        layer = layers.get(id(value))
        if layer is not None and _trains_on_new(facts, layer.index):
            message = "DistributedDataParallel does not know this new layer: insert it before wrapping the model"
            yield facts.finding(RULE, access.site, message, related=((made.site, "wrapped here"),))


def _is_layer(path: str) -> bool:
    """Something with parameters, as far as the name shows."""
    last = path.rpartition(".")[2]
    return path.count(".") == 2 and last[:1].isupper() and last.startswith(
        ("Linear", "Conv", "Embedding", "LayerNorm", "BatchNorm", "Sequential", "Parameter", "Bilinear", "LSTM", "GRU")
    )  # fmt: skip


def _trains_on_new(facts: ModuleFacts, index: int) -> bool:
    wrapped_again = any(c.index > index for path in collectives.WRAPPERS for c in facts.named(path))
    return not wrapped_again and any(c.index > index for c in facts.methods("backward"))
