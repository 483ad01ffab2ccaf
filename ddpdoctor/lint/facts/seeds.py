"""Random number generators: who seeds them, with what, and who draws from them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddpdoctor.lint.facts import paths, random_draws
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, frameworks, heuristics, packages, randomness, vocabulary
from ddpdoctor.lint.knowledge.packages import Does
from ddpdoctor.lint.knowledge.randomness import Generator, Use
from ddpdoctor.lint.values.abstract_objects import Function, Made, Method, Namespace
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Value, unknown
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of

#: functions that save, set or isolate the state of torch's generator
_STATE = tuple(randomness.last_names(Use.SAVES, Use.RESTORES, of=Generator.TORCH))


def seedings(facts: ModuleFacts) -> list[CallEvent]:
    """Calls that seed a global generator of a rank, without the launcher's own, which spawned processes do
    not inherit.
    """
    started = {a.object.info.qualname for call in facts.named(*frameworks.SPAWNING) for a in call.args[:2]
               if isinstance(a.object, Function)}  # fmt: skip
    workers = [v.object.info for c in facts.named(aliases.LOADER)
               if (v := c.keyword("worker_init_fn")) is not None and hands_on(v)]  # fmt: skip
    return [c for c in facts.named(*randomness.SEEDERS) if not started or started & set(c.context.calls)
            if c.context.function not in workers]  # fmt: skip


def asked_for(call: CallEvent) -> bool:
    """Whether seeding is optional: `if args.seed is not None: seed(args.seed)`."""
    return heuristics.WANTS_SEED.found_in_any(guard.text for guard in call.context.guards)


def differs_by_rank(call: CallEvent) -> bool:
    """Whether the seed is a function of the rank."""
    value = call.args[0] if call.args else None
    if value is None:
        return True
    by_rank = value.tags & (ANY_RANK | Tag.IN_GROUP)
    return bool(by_rank) or len(value.atoms) > 1 or value.taint is value.taint.RANK


def constant(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the seed is a known number or a command-line option, equal on all ranks."""
    value = call.args[0] if call.args else None
    if value is None:
        return False
    return (value.known and isinstance(value.constant, int)) or _option(facts, value)


def configured(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the seed is an entry of the settings that a function is given, to which this file adds nothing:
    `cfg["seed"]`, `args.get("seed", 0)`."""
    if differs_by_rank(call) or not call.node.args or len(call.args) != len(call.node.args):
        return False
    parts = paths.expressions(call, call.node.args[0])
    trees = list(filter(None, map(expression_of, parts)))
    if len(trees) < len(parts):
        return False
    nodes = [node for tree in trees for node in walk(tree)]
    modules = (facts.module, *facts.analysis.reached.values())
    entries = {name for node in nodes if (name := _entry(node)) and heuristics.WANTS_SEED.found_in(name)}
    stored = any(_sets(module, name) for module in modules for name in entries)
    roots = {n.id for n in nodes if isinstance(n, ast.Name)} - {part for part in parts if part.isidentifier()}
    return bool(entries) and not stored and bool(roots & vocabulary.SETTINGS_NAMES) and all(map(_only_reads, nodes))


def _only_reads(node: ast.AST) -> bool:
    """Whether the part of an expression takes something out of settings and changes nothing."""
    return not isinstance(node, ast.BinOp) and (not isinstance(node, ast.Call) or last_name(node.func) in _READS)


#: calls that read an entry and change nothing
_READS = frozenset({"get", "int", "getattr"})


def _entry(node: ast.AST) -> str:
    """The name of an entry of settings that the expression reads."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        key: ast.AST | None = node.slice
    else:
        key = node.args[0] if isinstance(node, ast.Call) and last_name(node.func) == "get" and node.args else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _option(facts: ModuleFacts, value: Value) -> bool:
    """Whether it is `args.seed` as parsed, or an entry of hydra's configuration, which nothing visible overwrites."""
    names: list[str] = []
    while isinstance(value.object, Method):
        names.append(value.object.name)
        value = value.object.receiver
    modules = (facts.module, *facts.analysis.reached.values())
    if not names or any(_sets(module, names[0]) for module in modules):
        return False
    return isinstance(value.object, Namespace) or any(
        value.atoms == unknown("parameter", id(info), info.parameters[0].arg).atoms
        for module in modules for info in module.functions if info.parameters and _by_hydra(module, info)
    )  # fmt: skip


def _sets(module: Module, name: str) -> bool:
    changed = [node.target for node in module.of(ast.AugAssign)]
    return any(stored == name for _, stored in module.attribute_stores) or any(
        isinstance(target, ast.Attribute) and target.attr == name for target in changed
    )


def _by_hydra(module: Module, info: FunctionInfo) -> bool:
    targets = [d.func if isinstance(d, ast.Call) else d for d in info.decorators]
    roots = [t.value.id for t in targets if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name)]
    return any(module.imports.get(root) == "hydra" for root in roots)


def mentioned(facts: ModuleFacts) -> bool:
    """Whether a seeding word occurs in this file or one that it imports, or in the name of a function that cannot be
    read.
    """
    if facts.suggests(heuristics.SEEDS) or any(_star(n) for n in facts.module.nodes):
        return True
    return heuristics.MAY_SEED.found_in_any((call.path or call.method).rpartition(".")[2] for call in facts.calls)


def _star(node: ast.AST) -> bool:
    """Whether it is a star import, which may import a seeding function."""
    return isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)


def by_framework(facts: ModuleFacts) -> bool:
    """Whether there is a framework that seeds, or that makes generators differ by rank."""
    return packages.imported(facts.module.imports.values(), Does.SEEDS)


def seeds_elsewhere(facts: ModuleFacts) -> bool:
    """Whether workers or samplers are seeded by the program: its `worker_init_fn` may add the rank."""
    if facts.mentions(*_STATE):
        return True
    given = [v for c in facts.named(aliases.LOADER) if (v := c.keyword("worker_init_fn")) is not None]
    return facts.suggests(heuristics.WORKER_SEED) and not (given and all(map(hands_on, given)))


def hands_on(value: Value) -> bool:
    """Whether it is a `worker_init_fn` that seeds other generators from torch's without using the rank."""
    if not isinstance(value.object, Function):
        return False
    nodes = walk(value.object.info.node)
    words = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    words |= {str(n.value) for n in nodes if isinstance(n, ast.Constant)}
    return "initial_seed" in words and not heuristics.OWN_WORKER_SEED.found_in_any(words)


def data_parallel(facts: ModuleFacts) -> bool:
    """Whether a model is wrapped for data-parallel training."""
    return bool(facts.named(*DDP_PATHS)) or bool(facts.named(aliases.FSDP))


def trains(facts: ModuleFacts) -> bool:
    """Whether gradients are computed."""
    return bool(facts.methods("backward"))


def kept_draw(facts: ModuleFacts) -> SourceSite | None:
    """Where an object is made that keeps random values and is neither a model, whose weights DDP sends to all ranks,
    nor a data set."""
    for call in _global_draws(facts):
        function = call.context.function
        if function is None or function.name != "__init__" or function.owner is None:
            continue
        bases = external_bases(facts.analysis, function.owner)
        if not any(base.startswith("torch.") for base in bases) and not heuristics.DATA_CLASS.found_in(
            function.owner.name
        ):
            return call.site
    return None


def seeded(given: Iterable[CallEvent]) -> frozenset[Generator]:
    """The global generators that these calls seed."""
    return frozenset(generator for call in given for generator in randomness.FUNCTIONS[call.path].generators)


def first_draw(facts: ModuleFacts, generators: frozenset[Generator]) -> SourceSite | None:
    """The first random augmentation or noise from one of the generators: in a dataset's `__getitem__`, or in a training
    loop. Workers of loaders are seeded from torch's generator, and libraries draw mostly from that."""
    for call in _global_draws(facts):
        ours = not generators.isdisjoint(randomness.FUNCTIONS[call.path].generators)
        if ours and (in_dataset(facts, call) or _in_training(facts, call)):
            return call.site
    if Generator.TORCH not in generators:
        return None
    return _elsewhere(facts) or _in_networks(facts) or _transform(facts)


def _global_draws(facts: ModuleFacts) -> list[CallEvent]:
    """Draws from global generators, in the order of execution."""
    draws = (call for call in facts.named(*randomness.DRAWS) if call.keyword("generator") is None)
    return sorted(draws, key=lambda call: call.index)


def _in_networks(facts: ModuleFacts) -> SourceSite | None:
    """In the forward of a wrapped model, if that is in another file."""
    given = (call.argument(0, "module") for call in facts.named(*DDP_PATHS))
    sites = (random_draws.in_network(facts.analysis, value) for value in given if value is not None)
    return next((site for site in sites if site is not None), None)


def dataset_draw(facts: ModuleFacts) -> SourceSite | None:
    """Where a dataset draws, in its loader's workers."""
    sites = (call.site for call in _global_draws(facts) if in_dataset(facts, call))
    return next(sites, None) or _elsewhere(facts) or _transform(facts)


def _elsewhere(facts: ModuleFacts) -> SourceSite | None:
    """In a data set of another file: workers call it, but no simulated code does."""
    sites = (random_draws.in_loader(facts.analysis, call) for call in facts.named(aliases.LOADER))
    return next((site for site in sites if site is not None), None)


def in_dataset(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is in a method that a loader's worker runs, or in something that the method calls."""
    names = {name.rpartition(".")[2] for name in call.context.calls}
    if names & {"__getitem__", "collate_fn"}:
        return True
    function = call.context.function
    if function is None or function.name != "__iter__" or function.owner is None:
        return False
    return any(base.endswith("IterableDataset") for base in external_bases(facts.analysis, function.owner))


def _in_training(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is in a loop that also computes gradients, or in a network's forward, and not in data created in
    advance.
    """
    function = call.context.function
    name = function.name if function is not None else ""
    if call.context.no_grad or not trains(facts) or name in ("", "__init__", "__len__"):
        return False
    if name == "forward" and function is not None and function.owner is not None:
        return True
    own = {id(loop.node) for loop in call.context.loops if loop.node is not None}
    return any(id(loop.node) in own for backward in facts.methods("backward") for loop in backward.context.loops)


def noise(facts: ModuleFacts) -> list[tuple[CallEvent, Made]]:
    """Noise drawn in training from the program's own generator, with that generator."""
    found: list[tuple[CallEvent, Made]] = []
    for call in facts.named(*randomness.NOISE):
        given = call.keyword("generator")
        made = given.object if given is not None else None
        if (
            isinstance(made, Made)
            and made.path == "torch.Generator"
            and (in_dataset(facts, call) or _in_training(facts, call))
        ):
            found.append((call, made))
    return found


def seedings_of(facts: ModuleFacts, generator: Made) -> list[CallEvent]:
    """Calls that seed this generator."""
    return [c for c in facts.methods("manual_seed") if c.receiver is not None and c.receiver.object == generator]


def _transform(facts: ModuleFacts) -> SourceSite | None:
    for call in facts.calls:
        if call.path.startswith(randomness.TRANSFORMS):
            return call.site
    return None
