"""Averages of a network's weights that begin before DDP gives all ranks the weights of rank 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import seeds
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks, heuristics, randomness
from ddpdoctor.lint.knowledge.randomness import Generator, Use
from ddpdoctor.lint.ranks.order import surely_before
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import ClassInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite

_SEEDERS = randomness.paths(Use.SEEDS, of=Generator.TORCH)


class EarlyCopy(NamedTuple):
    """A copy that keeps the weights which a rank drew for itself."""

    #: where the file takes it
    place: SourceSite
    #: the seed by rank, and where the network is wrapped
    seed: CallEvent
    wrapped: CallEvent
    #: whether training itself asks it: a teacher, and no average that is only evaluated
    teaches: bool = False


def found(facts: ModuleFacts) -> Iterator[EarlyCopy]:
    """The copies that begin with other weights on each rank."""
    yield from _copied(facts)
    yield from _loaded(facts)


def _loaded(facts: ModuleFacts) -> Iterator[EarlyCopy]:
    """`teacher.load_state_dict(student.state_dict())`, before the student is wrapped."""
    wraps = facts.named(*DDP_PATHS)
    for copy in facts.methods("load_state_dict") if wraps else ():
        network, name = _state_of(copy), _root(copy.node.func)
        wrapped = next((w for w in wraps if w.index > copy.index and _is_of(w, network)), None)
        if network is None or wrapped is None or any(_is_of(w, copy.receiver) for w in wraps):
            continue
        seed = None if _is_loaded(facts, network, copy) else _seed(facts, network, copy)
        teaches = _teaches(facts, copy, name)
        used = teaches or heuristics.AVERAGES.found_in(name)
        if seed is not None and used and not _begins_again(facts, copy, wrapped, name):
            yield EarlyCopy(facts.place(copy), seed, wrapped, teaches)


def _state_of(call: CallEvent) -> Value | None:
    """The network whose whole state is loaded."""
    made = call.args[0].object if call.args else None
    return made.args[0] if isinstance(made, Made) and made.path == "?.state_dict" and made.args else None


def _copied(facts: ModuleFacts) -> Iterator[EarlyCopy]:
    """`copy.deepcopy(network)`, and classes of averages that take a copy."""
    wraps = facts.named(*DDP_PATHS)
    for copy in [*facts.named("copy.deepcopy"), *facts.named(*frameworks.AVERAGING)] if wraps else ():
        network = copy.args[0] if copy.args else None
        wrapped = next((w for w in wraps if w.index > copy.index and _is_of(w, network)), None)
        if network is None or wrapped is None or _is_loaded(facts, network, copy):
            continue
        seed = _seed(facts, network, copy)
        place = _place(facts, copy)
        name = _kept_as(facts, place)
        teaches = _teaches(facts, copy, name)
        used = teaches or _is_average(copy, name)
        if seed is not None and used and not _begins_again(facts, copy, wrapped, name):
            yield EarlyCopy(place, seed, wrapped, teaches)


#: how weights that are one for all ranks come in
_LOADS = ("torch.load", "torch.hub.load", ".load_state_dict", ".from_pretrained", ".load_pretrained", ".load_file")


def _may_be_loaded(facts: ModuleFacts, copy: CallEvent) -> bool:
    """Whether weights of any network may come from a file before the copy."""
    start = copy.context.calls[:1]
    before = (c for c in facts.calls if c.index < copy.index and c.context.calls[:1] == start)
    return any(
        (c.path or f".{c.method}").endswith(_LOADS)
        or any("pretrained" in k and not (v.known and v.constant in (None, False)) for k, v in c.keywords)
        for c in before
    )


def _teaches(facts: ModuleFacts, copy: CallEvent, name: str) -> bool:
    """Whether the copy is asked in a loop that goes backward, `targets = teacher(images)`, of its function, or of one
    that this one returns it to."""
    if not name or _may_be_loaded(facts, copy):
        return False
    modules = {module.path: module for module in facts.modules}
    places = [copy.site, *reversed(copy.context.chain)]
    for place, call in zip(places, [*places[1:], None], strict=True):
        module = modules.get(place.file)
        if module is None:
            return False
        scope = innermost_function(module.tree, place.line)
        if _asks(scope or module.tree, place, name):
            return True
        name = _received(scope, name, modules.get(call.file), call) if scope is not None and call is not None else ""
        if not name:
            return False
    return False


def _received(scope: ast.AST, name: str, module: Module | None, call: SourceSite) -> str:
    """The variable in which a caller receives what a function returns under a name; "" if there is none."""
    returned = [node.value for node in walk(scope) if isinstance(node, ast.Return) and node.value is not None]
    if len(returned) != 1 or module is None:
        return ""
    parts = returned[0].elts if isinstance(returned[0], ast.Tuple) else [returned[0]]
    position = next((i for i, part in enumerate(parts) if isinstance(part, ast.Name) and part.id == name), None)
    for node in module.of(ast.Assign):
        if position is None or not isinstance(node.value, ast.Call) or node.value.lineno != call.line:
            continue
        target = node.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(names) == len(parts) and isinstance(names[position], ast.Name):
            return last_name(names[position])
    return ""


def _asks(scope: ast.AST, place: SourceSite, name: str) -> bool:
    """Whether what a variable holds is called in the first loop after a place that goes backward."""
    loops = (node for node in walk(scope) if isinstance(node, ast.For) and node.lineno > place.line)
    for loop in loops:
        called = [node.func for node in walk(loop) if isinstance(node, ast.Call)]
        if any(isinstance(func, ast.Attribute) and func.attr == "backward" for func in called):
            return any(isinstance(func, ast.Name) and func.id == name for func in called)
    return False


def _place(facts: ModuleFacts, copy: CallEvent) -> SourceSite:
    """Where the file makes what keeps the copy."""
    chain = copy.context.chain
    made = chain[-1] if chain and _class(copy) is not None else None
    return made if made is not None and made.file == facts.module.path else facts.place(copy)


def _class(copy: CallEvent) -> ClassInfo | None:
    """The class that averages weights and takes the copy where it is made."""
    owner = copy.context.function.owner if copy.context.function is not None else None
    return owner if owner is not None and heuristics.AVERAGES.found_in(owner.name) else None


def _is_of(wrap: CallEvent, network: Value | None) -> bool:
    return network is not None and bool(wrap.args) and wrap.args[0].atoms == network.atoms and not network.known


def _seed(facts: ModuleFacts, network: Value, copy: CallEvent) -> CallEvent | None:
    """The seed by rank under which the network was surely made."""
    before = [
        c for c in facts.named(*_SEEDERS) if c.index < copy.index and c.context.calls[:1] == copy.context.calls[:1]
    ]
    made = next((c for c in facts.calls if c.result.atoms == network.atoms), None)
    last = max(before, key=lambda c: c.index, default=None)
    if last is None or not seeds.differs_by_rank(last) or not surely_before(last.context, copy.context):
        return None
    return last if made is None or made.index > last.index else None


def _is_loaded(facts: ModuleFacts, network: Value, copy: CallEvent) -> bool:
    """Whether the network's weights come from a file, which is one for all ranks."""
    made = network.object
    if isinstance(made, Made) and (
        made.path.endswith("from_pretrained")
        or any(k in ("pretrained", "weights") and v.known and v.constant not in (None, False) for k, v in made.keywords)
    ):
        return True
    loads = (c for c in facts.methods("load_state_dict") if c.index < copy.index)
    return any(
        c.receiver is not None and c.receiver.atoms == network.atoms and surely_before(c.context, copy.context)
        for c in loads
    )


def _kept_as(facts: ModuleFacts, place: SourceSite) -> str:
    """The variable that holds the copy; "" if there is none."""
    for node in facts.module.of(ast.Assign):
        if node.lineno <= place.line <= (node.end_lineno or node.lineno) and len(node.targets) == 1:
            return last_name(node.targets[0])
    return ""


def _is_average(copy: CallEvent, name: str) -> bool:
    """Whether the copy becomes an average, by its name or its class, that forgets its beginning slowly."""
    owner = _class(copy)
    if owner is not None:
        words = (n.attr if isinstance(n, ast.Attribute) else n.id for n in walk(owner.node)
                 if isinstance(n, (ast.Attribute, ast.Name)))  # fmt: skip
        return not heuristics.FORGETS_SOON.found_in_any(words)
    return copy.path in frameworks.AVERAGING or heuristics.AVERAGES.found_in(name)


def _begins_again(facts: ModuleFacts, copy: CallEvent, wrapped: CallEvent, name: str) -> bool:
    """Whether it is given the wrapped network's weights after all: by a copy, or by an average that takes all of it."""
    # what is taken of a network that is not yet wrapped is the rank's own again
    place, wrap = _place(facts, copy), facts.place(wrapped)
    here = innermost_function(facts.module.tree, place.line)
    same = here is innermost_function(facts.module.tree, wrap.line)
    for call in facts.module.of(ast.Call):
        if call.lineno > (wrap.line if same else place.line) and any(
            k.arg == "decay" and isinstance(k.value, ast.Constant) and k.value.value == 0 for k in call.keywords
        ):
            return True
    return any(
        c.index > copy.index and _root(c.node.func) == name and surely_before(copy.context, c.context)
        and surely_before(c.context, copy.context)
        for c in facts.methods("load_state_dict", "set")
    )  # fmt: skip


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return last_name(node)
