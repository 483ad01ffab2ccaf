"""Random number generators: who seeds them, with what, and who draws from them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ddpdoctor.lint.facts import averaged_gradients, draws_by_sample, launch, loaders, paths, random_draws
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.facts.random_draws import Draw
from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop, Guard
from ddpdoctor.lint.knowledge import aliases, frameworks, heuristics, launchers, packages, randomness, vocabulary
from ddpdoctor.lint.knowledge.packages import Does
from ddpdoctor.lint.knowledge.randomness import Generator, RandomFunction, Use
from ddpdoctor.lint.ranks.order import surely_before
from ddpdoctor.lint.values.abstract_objects import Function, Made, Method, Namespace
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Value, unknown
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of

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
    by_framework = [c for c in facts.methods(_FABRIC_SEEDS) if _kind_of(c) == frameworks.FABRIC]
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


def _kind_of(call: CallEvent) -> str:
    """The framework's class whose method is called."""
    made = call.receiver.object if call.receiver is not None else None
    return frameworks.kind(made.path) if isinstance(made, Made) else ""


def _row(call: CallEvent) -> RandomFunction:
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
    modules = (facts.module, *facts.analysis.reached.values())
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
    by_rank = _row(call).by_rank
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
    """Whether it is one by the source of the expression, and of the variables in it."""
    if not call.node.args or len(call.args) != len(call.node.args):
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


def _is_setting(facts: ModuleFacts, seed: Value | None) -> bool:
    """Whether it is `cfg.seed` of something that is no object of the project and does not depend on the rank, through
    whatever functions it came."""
    obj = seed.object if seed is not None else None
    if not isinstance(obj, Method) or not heuristics.WANTS_SEED.found_in(obj.name):
        return False
    holder = obj.receiver
    plain = holder.object is None or isinstance(holder.object, Made)
    by_rank = holder.tags & (ANY_RANK | Tag.IN_GROUP) or len(holder.atoms) > 1 or holder.taint > holder.taint.UNKNOWN
    modules = (facts.module, *facts.analysis.reached.values())
    return plain and not by_rank and not any(_sets(module, obj.name) for module in modules)


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
    modules = (facts.module, *facts.analysis.reached.values())
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
    if any(map(_handles_state, (facts.module, *facts.analysis.reached.values()))):
        return True
    given = [v for c in facts.named(aliases.LOADER) if (v := c.keyword("worker_init_fn")) is not None]
    return facts.suggests(heuristics.WORKER_SEED) and not (given and all(map(hands_on, given)))


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
    return "initial_seed" in words and not heuristics.OWN_WORKER_SEED.found_in_any(words)


def data_parallel(facts: ModuleFacts) -> bool:
    """Whether a model is wrapped for data-parallel training."""
    if facts.named(*DDP_PATHS) or facts.named(aliases.FSDP):
        return True
    return bool(_wrapping_by_framework(facts)) or bool(averaged_gradients.calls(facts)) or _by_lightning(facts)


def _by_lightning(facts: ModuleFacts) -> bool:
    """Whether Lightning trains on several ranks: it is told to, by a text, or by an object that says how."""
    if not facts.named(frameworks.LIGHTNING):
        return False
    texts = (node.value for node in facts.module.of(ast.Constant))
    said = any(isinstance(text, str) and text.startswith(_STRATEGIES) for text in texts)
    return said or any(path.endswith(_STRATEGY_CLASSES) for path in facts.module.imports.values())


#: how Lightning is told to train a model on several ranks
_STRATEGIES = ("ddp", "fsdp", "deepspeed_stage")
_STRATEGY_CLASSES = ("DDPStrategy", "DDPPlugin", "FSDPStrategy", "DeepSpeedStrategy")


def _wrapping_by_framework(facts: ModuleFacts) -> list[CallEvent]:
    """Calls by which Accelerate or Fabric wraps a model."""
    prepared = facts.methods(*{method for _, method in _WRAPPING})
    return [call for call in prepared if (_kind_of(call), call.method) in _WRAPPING]


#: methods of frameworks that wrap a model for data-parallel training
_WRAPPING = frozenset({
    (frameworks.ACCELERATOR, "prepare"), (frameworks.ACCELERATOR, "prepare_model"),
    (frameworks.FABRIC, "setup"), (frameworks.FABRIC, "setup_module"),
})  # fmt: skip


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
    return frozenset(generator for call in given for generator in _row(call).generators)


class EqualDraw(NamedTuple):
    """Random numbers that ranks with equal seeds draw alike."""

    site: SourceSite
    #: the generators that they come from
    generators: tuple[Generator, ...]
    #: whether the workers of a loader draw them, for each sample
    by_worker: bool = True
    #: whether the sample decides how many are drawn
    by_sample: bool = False


def equal_draws(facts: ModuleFacts, generators: frozenset[Generator]) -> Iterator[EqualDraw]:
    """Random augmentation or noise from these generators: in a dataset's `__getitem__`, or in a training loop. Workers
    of loaders are seeded from torch's generator, and libraries draw mostly from that."""
    for call in _global_draws(facts):
        drawn = EqualDraw(
            call.site, randomness.FUNCTIONS[call.path].generators, in_dataset(facts, call), _is_by_sample(call)
        )
        ours = not generators.isdisjoint(drawn.generators)
        if ours and (drawn.by_worker or (_is_of_many(call) and _in_training(facts, call))):
            yield drawn
    if Generator.TORCH not in generators:
        return
    others = (*_elsewhere(facts), *_in_networks(facts), *_transform(facts), *_in_made(facts))
    yield from (draw for draw in others if draw.by_worker or not generators.isdisjoint(draw.generators))


def _is_by_sample(call: CallEvent) -> bool:
    function = call.context.function
    return function is not None and draws_by_sample.asks(function.node, call.path, call.node)


def lasting(facts: ModuleFacts, draws: list[EqualDraw]) -> list[EqualDraw]:
    """Those that stay alike on ranks that begin alike: not what workers draw from a generator of which the samples
    decide how much is drawn."""
    parted = {generator for draw in draws if draw.by_worker and draw.by_sample for generator in draw.generators}
    if _parted_by_crops(facts):
        parted.add(Generator.TORCH)
    return [draw for draw in draws if not draw.by_worker or parted.isdisjoint(draw.generators)]


def undone_by(call: CallEvent, seedings: Iterable[CallEvent]) -> CallEvent | None:
    """The last of the calls that surely seeds the same generators again, whatever this call seeds them with."""
    mine = set(_row(call).generators)
    later = (
        other for other in seedings
        if other.index > call.index and mine <= set(_row(other).generators)
        and surely_before(call.context, other.context) and surely_before(other.context, call.context)
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


def _is_of_many(call: CallEvent) -> bool:
    """Whether more than one number is drawn: one decides what all ranks do in this step, as which data to take."""
    if Generator.PYTHON in randomness.FUNCTIONS[call.path].generators:
        return False
    name, given = call.path.rpartition(".")[2], call.node.args
    if Generator.NUMPY in randomness.FUNCTIONS[call.path].generators:
        return call.keyword("size") is not None or (name in _SHAPED and bool(given))
    return not any(map(_is_one_number, given if name in _SHAPED else given[-1:]))


#: functions whose arguments are the shape of what they draw
_SHAPED = frozenset({"rand", "randn", "random", "random_sample", "standard_normal"})


def _is_one_number(shape: ast.expr) -> bool:
    """Whether it is `1`, `(1,)` or `()`."""
    sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    return all(isinstance(size, ast.Constant) and size.value == 1 for size in sizes)


def seeding(given: Iterable[CallEvent], draw: EqualDraw) -> list[CallEvent]:
    """Those of the calls that seed what is drawn from; all generators of workers are seeded from torch's."""
    sources = [{*draw.generators}] if not draw.by_worker else [{Generator.TORCH}, {*draw.generators}]
    found = ([call for call in given if not source.isdisjoint(_row(call).generators)] for source in sources)
    return next(filter(None, found), [])


def _parted_by_crops(facts: ModuleFacts) -> bool:
    """Whether the ranks' workers soon draw differently, though they begin alike: a crop of random size is drawn until
    it fits the picture, and the pictures' sizes differ, as far as anybody knows."""
    crops = facts.named(*randomness.DRAWN_UNTIL_FITTING)
    if not crops or any(map(_names_one_size, (facts.module, *facts.analysis.reached.values()))):
        return False
    return not any(_behind_resize(facts, crop) for crop in crops)


def _names_one_size(module: Module) -> bool:
    """Whether a name or a string of it, which is no prose, is that of a data set whose pictures have one size."""
    strings = (node.value for node in module.of(ast.Constant) if isinstance(node.value, str) and " " not in node.value)
    return any(heuristics.ONE_SIZE.found_in(word.lower()) for some in (module.words, strings) for word in some)


def _behind_resize(facts: ModuleFacts, crop: CallEvent) -> bool:
    """Whether a transform before it in the same list gives all pictures one size: `Resize((256, 256))`."""
    around = facts.parents.get(crop.node)
    before = around.elts[: around.elts.index(crop.node)] if isinstance(around, (ast.List, ast.Tuple)) else []
    resized = (n.args[0] for n in before if isinstance(n, ast.Call) and n.args and last_name(n.func) == "Resize")
    return any(isinstance(size, (ast.Tuple, ast.List)) for size in resized)


def trains_briefly(facts: ModuleFacts) -> bool:
    """Whether every sample is seen once, or few of them: all training is in a loop that certainly runs once, or that
    ends after a few batches."""
    passes = facts.methods("backward")
    return bool(passes) and all(any(map(_is_short, call.context.loops)) for call in passes)


#: batches after which a program has measured something rather than trained
_FEW = 100


def _is_short(loop: EnclosingLoop) -> bool:
    """Whether it runs once, or has a `break` that a small number alone decides: `if i >= 5: break`."""
    if loaders.runs_once(loop):
        return True
    if not isinstance(loop.node, ast.For):
        return False
    counted = {n.id for n in walk(loop.node.target) if isinstance(n, ast.Name)}
    ends = (s.test for s in loop.node.body if isinstance(s, ast.If) and isinstance(s.body[-1], ast.Break))
    return any(_reaches_few(test, counted) for test in ends)


def _reaches_few(test: ast.expr, counted: set[str]) -> bool:
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or test.left.id not in counted:
        return False
    end = test.comparators[0]
    reaches = isinstance(test.ops[0], (ast.GtE, ast.Gt, ast.Eq))
    return reaches and isinstance(end, ast.Constant) and isinstance(end.value, int) and end.value <= _FEW


def _global_draws(facts: ModuleFacts) -> list[CallEvent]:
    """Draws from global generators, in the order of execution."""
    draws = (
        call for call in facts.named(*randomness.DRAWS)
        if call.keyword("generator") is None and not any(map(_in_its_place, call.context.guards))
    )  # fmt: skip
    return sorted(draws, key=lambda call: call.index)


def _in_its_place(guard: Guard) -> bool:
    """Whether it holds where something is not given: `if noise is None: noise = torch.randn_like(x)`."""
    return guard.side and guard.text.endswith(" is None") and guard.text[: -len(" is None")].isidentifier()


def _in_networks(facts: ModuleFacts) -> list[EqualDraw]:
    """In the forward of a wrapped model, if that is in another file."""
    given = [call.argument(0, "module") for call in facts.named(*DDP_PATHS)]
    given += [value for call in _wrapping_by_framework(facts) for value in call.args]
    given += [call.args[0] for call in facts.methods("fit") if call.args and _kind_of(call) == frameworks.LIGHTNING]
    draws = (random_draws.in_network(facts.analysis, value) for value in given if value is not None)
    return [_of(draw, by_worker=False) for draw in draws if draw is not None]


def _of(draw: Draw, *, by_worker: bool) -> EqualDraw:
    return EqualDraw(draw.site, randomness.FUNCTIONS[draw.path].generators, by_worker, draw.by_sample)


def dataset_draw(facts: ModuleFacts) -> SourceSite | None:
    """Where a dataset draws, in its loader's workers."""
    sites = (call.site for call in _global_draws(facts) if in_dataset(facts, call))
    others = (draw.site for draw in (*_elsewhere(facts), *_transform(facts)))
    return next((site for some in (sites, others) for site in some), None)


def _elsewhere(facts: ModuleFacts) -> list[EqualDraw]:
    """In a data set of another file: workers call it, but no simulated code does."""
    draws = (random_draws.in_loader(facts.analysis, call) for call in _loads(facts))
    return [_of(draw, by_worker=True) for draw in draws if draw is not None]


def _loads(facts: ModuleFacts) -> list[CallEvent]:
    """The loaders whose workers draw on each rank: Accelerate draws a stream on one, and sends each rank its part."""
    loads = facts.named(aliases.LOADER)
    if not facts.named(frameworks.ACCELERATOR):
        return list(loads)
    return [call for call in loads if not random_draws.streams(facts.analysis, call)]


def _in_made(facts: ModuleFacts) -> Iterator[EqualDraw]:
    """In a data set or a transform that the program makes, where it is not seen how a loader gets it."""
    unseen = facts.named(frameworks.LIGHTNING) and facts.mentions("DataLoader")
    loads = _loads(facts) or (unseen and not facts.named(aliases.LOADER))
    streams = not facts.named(frameworks.ACCELERATOR)
    draw = random_draws.in_made(facts.analysis, streams=streams) if loads else None
    if draw is not None:
        yield _of(draw, by_worker=True)


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


def _transform(facts: ModuleFacts) -> list[EqualDraw]:
    """The transforms that draw for each sample, where something is done with them."""
    seeds_its_own = facts.named(*randomness.SEEDING_LOADERS)
    kinds = (*randomness.TRANSFORMS, *(randomness.SEEDED_TRANSFORMS if seeds_its_own else ()))
    masking = [call for call in facts.named(*randomness.MASKING) if (mlm := call.argument(1, "mlm")) is None or (
        mlm.constant is True)]  # fmt: skip
    # as many as a batch of texts has words
    calls = [(call, True) for call in masking] + [(call, False) for call in facts.calls if call.path.startswith(kinds)]
    return [
        EqualDraw(call.site, (Generator.TORCH,), by_sample=by_sample)
        for call, by_sample in calls
        if not _thrown_away(facts, call.node)
    ]


def _thrown_away(facts: ModuleFacts, node: ast.AST) -> bool:
    """Whether it is a part of a value that its function binds to a name and never reads."""
    bound: ast.Assign | None = None
    around: ast.AST | None = node
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
        bound = around if isinstance(around, ast.Assign) else bound
        around = facts.parents.get(around)
    target = bound.targets[0] if bound is not None and len(bound.targets) == 1 else None
    if around is None or not isinstance(target, ast.Name):
        return False
    read = (n.id for n in walk(around) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store))
    shared = any(isinstance(n, (ast.Global, ast.Nonlocal)) and target.id in n.names for n in walk(around))
    return target.id not in read and not shared
