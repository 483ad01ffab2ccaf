"""Random number generators: who seeds them, and with what. `equal_draws` is about what is drawn from them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddpdoctor.lint.facts import averaged_gradients, launch, paths
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import aliases, frameworks, heuristics, launchers, packages, randomness, vocabulary
from ddpdoctor.lint.knowledge.packages import Does
from ddpdoctor.lint.knowledge.randomness import Generator, RandomFunction, Use
from ddpdoctor.lint.ranks.order import surely_before
from ddpdoctor.lint.values.abstract_objects import Function, Made, Method, Namespace
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Value, unknown
from ddpdoctor.program import libraries
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of, text_of

#: functions that seed global generators, those of frameworks as well
_SEEDING = randomness.paths(Use.SEEDS)
#: the method of Fabric that does
_FABRIC_SEEDS = "seed_everything"
#: functions that save, set or isolate the state of torch's generator
_STATE = tuple(randomness.last_names(Use.SAVES, Use.RESTORES, of=Generator.TORCH))


def seedings(facts: ModuleFacts) -> list[CallEvent]:
    """Calls that seed a global generator of a rank, without the launcher's own, which spawned processes do
    not inherit.
    """
    spawns = facts.named(*frameworks.SPAWNING)
    started = {a.object.info.qualname for call in spawns for a in call.args[:2] if isinstance(a.object, Function)}
    if started and _may_be_launched(facts, started, {spawn.site for spawn in spawns}):
        started = set()
    workers = [v.object.info for c in facts.named(aliases.LOADER)
               if (v := c.keyword("worker_init_fn")) is not None and hands_on(v)]  # fmt: skip
    by_framework = [c for c in facts.methods(_FABRIC_SEEDS) if kind_of(c) == frameworks.FABRIC]
    return [c for c in (*facts.named(*_SEEDING), *by_framework) if not started or started & set(c.context.calls)
            if c.context.function not in workers]  # fmt: skip


def _may_be_launched(facts: ModuleFacts, started: set[str], spawns: set[SourceSite]) -> bool:
    """Whether a launcher may start the ranks as well, in which the script then calls itself what it spawns else: it has
    the launcher's option."""
    flags = {flag for options in facts.module.options.values() for option in options for flag in option.flags}
    if flags.isdisjoint(launchers.OPTIONS):
        return False
    inside = (call for call in facts.calls if not started.isdisjoint(call.context.calls))
    return any(spawns.isdisjoint(call.context.chain) for call in inside)


def kind_of(call: CallEvent) -> str:
    """The framework's class whose method is called."""
    made = call.receiver.object if call.receiver is not None else None
    return frameworks.kind(made.path) if isinstance(made, Made) else ""


def row(call: CallEvent) -> RandomFunction:
    """What a call that seeds does, also if it is a method of a framework's object."""
    return randomness.FUNCTIONS[call.path or f"lightning.fabric.{_FABRIC_SEEDS}"]


def _seed(call: CallEvent) -> Value | None:
    """The seed that is given."""
    return call.argument(0, "seed")


def asked_for(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether seeding is optional: `if args.seed is not None: seed(args.seed)`, and nothing is seeded by default."""
    asking = filter(heuristics.WANTS_SEED.found_in, (guard.text for guard in call.context.guards))
    return not all(_by_default(facts, test) for test in asking)


def _by_default(facts: ModuleFacts, test: str) -> bool:
    """Whether a condition on a seed holds where nobody gives the option: that is a number by default."""
    read = {last_name(node) for node in walk(tree)} if (tree := expression_of(test)) is not None else set()
    modules = facts.modules
    options = [option for module in modules for name in read for option in module.options.get(name, ())]
    # a test of 0 itself says no
    least = 0 if "is not None" in test else 1
    return bool(options) and all(
        isinstance(option.default, ast.Constant) and type(option.default.value) is int and option.default.value >= least
        for option in options
    )


def differs_by_rank(call: CallEvent) -> bool:
    """Whether the seed is a function of the rank."""
    adds = _adds(call)
    if adds is not None and (adds.constant is True or _is_by_rank(adds)):
        return True
    value = _seed(call)
    if value is None:
        # the functions of frameworks then use the launcher's seed
        return call.path in randomness.SEEDERS
    return _is_by_rank(value)


def _is_by_rank(value: Value) -> bool:
    return bool(value.tags & (ANY_RANK | Tag.IN_GROUP)) or len(value.atoms) > 1 or value.taint is value.taint.RANK


def _adds(call: CallEvent) -> Value | None:
    """Whether the rank is added to the seed, or what is, by the second parameter of a function that can."""
    by_rank = row(call).by_rank
    return call.argument(1, by_rank) if by_rank else None


def constant(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the seed is a known number or a command-line option, equal on all ranks."""
    value, adds = _seed(call), _adds(call)
    if value is None or (adds is not None and adds.constant not in (False, 0)):
        return False
    return (value.known and isinstance(value.constant, int)) or _option(facts, value)


def configured(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the seed is an entry of the settings that a function is given, to which this file adds nothing:
    `cfg["seed"]`, `args.get("seed", 0)`."""
    if _adds(call) is not None or differs_by_rank(call):
        return False
    return _is_setting(facts, _seed(call)) or _spells_setting(facts, call)


def _spells_setting(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is one by the source of the expression, and of the variables in it, or of what the function around is
    given for it."""
    if not call.node.args or len(call.args) != len(call.node.args):
        return False
    parts = paths.expressions(call, call.node.args[0]) + paths.given_for(facts, call, call.node.args[0])
    trees = list(filter(None, map(expression_of, parts)))
    if len(trees) < len(parts):
        return False
    nodes = [node for tree in trees for node in walk(tree)]
    modules = facts.modules
    entries = {name for node in nodes if (name := _entry(node)) and heuristics.WANTS_SEED.found_in(name)}
    stored = any(_sets(module, name) or _stores(module, name) for module in modules for name in entries)
    of_settings = not vocabulary.SETTINGS_NAMES.isdisjoint(_roots(nodes, parts))
    return bool(entries) and not stored and of_settings and all(map(_only_reads, nodes))


def _roots(nodes: Iterable[ast.AST], parts: Iterable[str]) -> set[str]:
    """The variables in some expressions that are none of these themselves; of an object's own settings,
    `self.opt["seed"]`, those."""
    names = {n.id for n in nodes if isinstance(n, ast.Name)} - {part for part in parts if part.isidentifier()}
    return names | {n.attr for n in nodes if isinstance(n, ast.Attribute) and text_of(n.value) == "self"}


def _is_setting(facts: ModuleFacts, seed: Value | None) -> bool:
    """Whether it is `cfg.seed` of something that is no object of the project and does not depend on the rank, through
    whatever functions it came."""
    obj = seed.object if seed is not None else None
    if not isinstance(obj, Method) or not heuristics.WANTS_SEED.found_in(obj.name):
        return False
    holder = obj.receiver
    while isinstance(holder.object, Method):  # settings in settings: `cfg.train.seed`
        holder = holder.object.receiver
    plain = holder.object is None or isinstance(holder.object, Made)
    by_rank = holder.tags & (ANY_RANK | Tag.IN_GROUP) or len(holder.atoms) > 1 or holder.taint > holder.taint.UNKNOWN
    modules = facts.modules
    return plain and not by_rank and not any(_sets(module, obj.name) for module in modules)


def _only_reads(node: ast.AST) -> bool:
    """Whether the part of an expression takes something out of settings and changes nothing."""
    return not isinstance(node, ast.BinOp) and (not isinstance(node, ast.Call) or last_name(node.func) in _READS)


#: calls that read an entry, or settings from a file, and change nothing
_READS = frozenset({"get", "int", "getattr", "open", "load", "safe_load", "loads", "read", "read_text"})


def _entry(node: ast.AST) -> str:
    """The name of an entry of settings that the expression reads."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        key: ast.AST | None = node.slice
    else:
        key = node.args[0] if isinstance(node, ast.Call) and last_name(node.func) == "get" and node.args else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


#: functions whose result holds what their argument does
_COPIES = ("copy.copy", "copy.deepcopy")


def _option(facts: ModuleFacts, value: Value) -> bool:
    """Whether it is `args.seed` as parsed, or an entry of hydra's configuration, which nothing visible overwrites."""
    names: list[str] = []
    while isinstance(value.object, Method):
        names.append(value.object.name)
        value = value.object.receiver
    while isinstance(value.object, Made) and value.object.path in _COPIES and value.object.args:
        value = value.object.args[0]
    modules = facts.modules
    if not names or any(_sets(module, names[0]) for module in modules):
        return False
    return isinstance(value.object, Namespace) or any(
        value.atoms == unknown("parameter", id(info), info.parameters[0].arg).atoms
        for module in modules for info in module.functions if info.parameters and _by_hydra(module, info)
    )  # fmt: skip


def _sets(module: Module, name: str) -> bool:
    """Whether the file gives an attribute of this name something that may not be the same on all ranks; an object that
    keeps the seed it is given does not: `self.seed = seed`."""
    changed = [node.target for node in module.of(ast.AugAssign)]
    return any(
        not isinstance(value, ast.Constant)
        and not (owner in ("self", "cls") and isinstance(value, (ast.Name, ast.Attribute)))
        for (owner, stored), values in module.attribute_stores.items()
        if stored == name
        for value in values
    ) or any(isinstance(target, ast.Attribute) and target.attr == name for target in changed)


def _stores(module: Module, key: str) -> bool:
    """Whether the file puts something into an entry of this name: `config["seed"] += rank`."""
    stored = (n.slice for n in module.of(ast.Subscript) if not isinstance(n.ctx, ast.Load))
    return any(isinstance(entry, ast.Constant) and entry.value == key for entry in stored)


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


def never(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the call is in a program of several ranks that starts here, and mentions no seed."""
    if not call.context.from_script or mentioned(facts) or by_framework(facts):
        return False
    if not launch.several(facts, call):
        return False
    return bool(facts.named("torch.distributed.init_process_group")) and not facts.mentions(
        *heuristics.SENDS_OBJECTS.words
    )


def left_in_parent(facts: ModuleFacts) -> list[CallEvent]:
    """Calls that seed the process alone which spawns the ranks, where no rank seeds anything: what is spawned, and not
    forked, begins with generators of its own."""
    spawns = [
        c for c in facts.named(*_FRESH) if (given := c.keyword("start_method")) is None or given.constant == "spawn"
    ]
    started = {a.object.info.qualname for c in spawns for a in c.args[:1] if isinstance(a.object, Function)}
    if not started or len(spawns) < len(facts.named(*frameworks.SPAWNING, *frameworks.PROCESSES)):
        return []
    in_ranks = [c for c in facts.calls if started & set(c.context.calls)]
    if heuristics.MAY_SEED.found_in_any((c.path or c.method).rpartition(".")[2] for c in in_ranks):
        return []
    first = min(spawn.index for spawn in spawns)
    return [c for c in facts.named(*_SEEDING) if c.index < first and c.context.from_script]


#: start ranks that inherit nothing, unless another method is asked for
_FRESH = ("torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn")


def _star(node: ast.AST) -> bool:
    """Whether it is a star import, which may import a seeding function."""
    return isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)


def by_framework(facts: ModuleFacts) -> bool:
    """Whether there is a framework that seeds, or that makes generators differ by rank."""
    return packages.imported(facts.module.imports.values(), Does.SEEDS)


def parted_by_framework(facts: ModuleFacts) -> bool:
    """Whether there is a framework that gives each rank's generators another seed without being asked."""
    return packages.imported(facts.module.imports.values(), Does.SEEDS_APART)


def seeds_elsewhere(facts: ModuleFacts) -> bool:
    """Whether workers or samplers are seeded by the program: its `worker_init_fn` may add the rank."""
    if any(map(_handles_state, facts.modules)):
        return True
    return facts.suggests(heuristics.WORKER_SEED) and not _begin_as_seeded(facts)


def _begin_as_seeded(facts: ModuleFacts) -> bool:
    """Whether every `worker_init_fn` is seen, and leaves workers of ranks with equal seeds alike."""
    given = [v for c in facts.named(aliases.LOADER) if (v := c.keyword("worker_init_fn")) is not None]
    if given and all(map(_leaves_alike, given)):
        return True
    # loaders that a framework asks for, or of a class of the program's own, are not simulated
    named = [
        (module, keyword.value)
        for module in facts.modules for call in module.of(ast.Call) for keyword in call.keywords
        if keyword.arg == "worker_init_fn"
    ]  # fmt: skip
    functions = [
        global_value(facts.analysis, module, node.id) if isinstance(node, ast.Name) else None for module, node in named
    ]
    return bool(functions) and all(value is not None and _leaves_alike(value) for value in functions)


def _leaves_alike(function: Value) -> bool:
    return hands_on(function) or _only_sets_up(function)


def _only_sets_up(function: Value) -> bool:
    """Whether it only calls functions of Python and torch that are not about random numbers: how workers share tensors,
    how many threads they have."""
    if not isinstance(function.object, Function):
        return False
    info = function.object.info
    nodes = walk(info.node)
    called = [info.module.imported(n.func) for n in nodes if isinstance(n, ast.Call)]
    keeps = any(isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store) for n in nodes)
    return not keeps and all(
        path.partition(".")[0] in _PLAIN and path not in randomness.FUNCTIONS and path != _WORKER for path in called
    )


#: packages of whose functions it is known which are about random numbers
_PLAIN = frozenset({"torch", "cv2", *libraries.STANDARD_LIBRARY, "time", "math", "sys", "gc"})
_WORKER = "torch.utils.data.get_worker_info"


def _handles_state(module: Module) -> bool:
    """Whether it saves, sets or isolates the state of torch's generator, elsewhere than in a data set: that draws twice
    alike for one sample."""
    if not any(word in module.words for word in _STATE):
        return False
    inside = {id(n) for info in module.of(ast.ClassDef) if _is_data_set(info) for n in walk(info)}
    named = (n for kind in (ast.Attribute, ast.Name, ast.alias) for n in module.of(kind))
    return any(_word(n) in _STATE and id(n) not in inside for n in named)


def _is_data_set(info: ast.ClassDef) -> bool:
    return any(last_name(base).endswith("Dataset") for base in info.bases)


def _word(node: ast.AST) -> str:
    return node.name if isinstance(node, ast.alias) else last_name(node)


def hands_on(value: Value) -> bool:
    """Whether it is a `worker_init_fn` that seeds other generators from torch's without using the rank."""
    if not isinstance(value.object, Function):
        return False
    nodes = walk(value.object.info.node)
    words = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    words |= {str(n.value) for n in nodes if isinstance(n, ast.Constant)}
    from_torch = "initial_seed" in words or {"get_worker_info", "seed"} <= words
    return from_torch and not heuristics.OWN_WORKER_SEED.found_in_any(words)


def data_parallel(facts: ModuleFacts) -> bool:
    """Whether a model is wrapped for data-parallel training."""
    if facts.named(*DDP_PATHS) or facts.named(aliases.FSDP):
        return True
    return bool(wrapping_by_framework(facts)) or bool(averaged_gradients.calls(facts)) or _by_lightning(facts)


def trainers(facts: ModuleFacts) -> list[CallEvent]:
    """Calls that make a trainer of Lightning, also of the options of the command line."""
    return facts.named(frameworks.LIGHTNING, f"{frameworks.LIGHTNING}.from_argparse_args")


def _are_of_one_device(options: ast.Dict) -> bool:
    """Whether options by name say that there is one device: `{"accelerator": "ddp", "gpus": 1}`."""
    given = [value for key, value in zip(options.keys, options.values, strict=True)
             if isinstance(key, ast.Constant) and key.value in ("gpus", "devices")]  # fmt: skip
    return any(isinstance(value, ast.Constant) and value.value in (1, "1") for value in given)


def _by_lightning(facts: ModuleFacts) -> bool:
    """Whether Lightning trains on several ranks: it is told to, by a text, or by an object that says how; and not that
    there is one device."""
    if all(map(launch.is_of_one_device, trainers(facts))) or any(map(_are_of_one_device, facts.module.of(ast.Dict))):
        return False
    texts = (node.value for node in facts.module.of(ast.Constant))
    said = any(isinstance(text, str) and text.startswith(_STRATEGIES) for text in texts)
    return said or any(path.endswith(_STRATEGY_CLASSES) for path in facts.module.imports.values())


#: how Lightning is told to train a model on several ranks
_STRATEGIES = ("ddp", "fsdp", "deepspeed_stage")
_STRATEGY_CLASSES = ("DDPStrategy", "DDPPlugin", "FSDPStrategy", "DeepSpeedStrategy")


def wrapping_by_framework(facts: ModuleFacts) -> list[CallEvent]:
    """Calls by which Accelerate or Fabric wraps a model."""
    prepared = facts.methods(*{method for _, method in _WRAPPING})
    return [call for call in prepared if (kind_of(call), call.method) in _WRAPPING]


#: methods of frameworks that wrap a model for data-parallel training
_WRAPPING = frozenset({
    (frameworks.ACCELERATOR, "prepare"), (frameworks.ACCELERATOR, "prepare_model"),
    (frameworks.FABRIC, "setup"), (frameworks.FABRIC, "setup_module"),
})  # fmt: skip


def trains(facts: ModuleFacts) -> bool:
    """Whether gradients are computed."""
    return bool(facts.methods("backward"))


def seeded(given: Iterable[CallEvent]) -> frozenset[Generator]:
    """The global generators that these calls seed."""
    return frozenset(generator for call in given for generator in row(call).generators)


def undone_by(call: CallEvent, seedings: Iterable[CallEvent]) -> CallEvent | None:
    """The last of the calls that surely seeds the same generators again, whatever this call seeds them with. A
    condition may be around this call alone: where it does not hold, there is nothing to undo."""
    mine = set(row(call).generators)
    later = (
        other for other in seedings
        if other.index > call.index and mine <= set(row(other).generators)
        and call.context.mask == other.context.mask and call.context.loops == other.context.loops
        and surely_before(other.context, call.context)
    )  # fmt: skip
    return max(later, key=lambda other: other.index, default=None)


def parts_workers(given: Iterable[CallEvent]) -> bool:
    """Whether Lightning seeds the workers of loaders by rank: `seed_everything(seed, workers=True)`, of Fabric's own
    method by default."""
    return any(
        (workers is None and call.method == _FABRIC_SEEDS) or (workers is not None and workers.constant is not False)
        for call in given
        for workers in (call.argument(1, "workers"),)
    )
