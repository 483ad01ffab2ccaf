"""Random numbers that ranks with equal seeds draw alike: augmentation and noise, in workers and in training loops."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.facts import draws_by_sample, loaders, random_draws, seeds
from ddpdoctor.lint.facts.exclusion import contradict
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.facts.random_draws import Draw
from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop, Guard
from ddpdoctor.lint.knowledge import aliases, frameworks, heuristics, randomness
from ddpdoctor.lint.knowledge.randomness import Generator
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite


def kept_draw(facts: ModuleFacts) -> SourceSite | None:
    """Where an object is made that keeps random values and is neither a model, whose weights DDP sends to all ranks,
    nor a data set."""
    for call in global_draws(facts):
        function = call.context.function
        if function is None or function.name != "__init__" or function.owner is None:
            continue
        bases = external_bases(facts.analysis, function.owner)
        if not any(base.startswith("torch.") for base in bases) and not heuristics.DATA_CLASS.found_in(
            function.owner.name
        ):
            return call.site
    return None


class EqualDraw(NamedTuple):
    """Random numbers that ranks with equal seeds draw alike."""

    site: SourceSite
    #: the generators that they come from
    generators: tuple[Generator, ...]
    #: whether the workers of a loader draw them, for each sample
    by_worker: bool = True
    #: whether the sample decides how many are drawn
    by_sample: bool = False
    #: the conditions under which they are drawn, as far as they are known
    guards: tuple[Guard, ...] = ()


def equal_draws(facts: ModuleFacts, generators: frozenset[Generator]) -> Iterator[EqualDraw]:
    """Random augmentation or noise from these generators: in a dataset's `__getitem__`, or in a training loop. Workers
    of loaders are seeded from torch's generator, and libraries draw mostly from that."""
    for call in global_draws(facts):
        by_worker, generators_of = in_dataset(facts, call), randomness.FUNCTIONS[call.path].generators
        by_sample = _is_by_sample(call) if by_worker else _is_by_own_data(call)
        drawn = EqualDraw(call.site, generators_of, by_worker, by_sample, call.context.guards)
        ours = not generators.isdisjoint(drawn.generators)
        if ours and (drawn.by_worker or (is_of_many(call) and _in_training(facts, call))):
            yield drawn
    if Generator.TORCH not in generators:
        return
    others = (*_elsewhere(facts), *_in_networks(facts), *_transform(facts), *_in_made(facts))
    yield from (draw for draw in others if draw.by_worker or not generators.isdisjoint(draw.generators))


def _is_by_sample(call: CallEvent) -> bool:
    function = call.context.function
    return function is not None and draws_by_sample.asks(function.node, call.path, call.node)


def _is_by_own_data(call: CallEvent) -> bool:
    """`torch.randperm(len(found))`, of what a rank has found in its own data."""
    return any(given.tags & Tag.UNEVEN for given in call.args)


def lasting(facts: ModuleFacts, draws: list[EqualDraw]) -> list[EqualDraw]:
    """Those that stay alike on ranks that begin alike: not what is drawn from a generator of which the samples decide
    how much is drawn. The workers have generators of their own."""
    parted = {(draw.by_worker, generator) for draw in draws if draw.by_sample for generator in draw.generators}
    if _parted_by_crops(facts):
        parted.add((True, Generator.TORCH))
    return [draw for draw in draws if not any((draw.by_worker, one) in parted for one in draw.generators)]


def is_of_many(call: CallEvent) -> bool:
    """Whether more than one number is drawn: one decides what all ranks do in this step, as which data to take."""
    if Generator.PYTHON in randomness.FUNCTIONS[call.path].generators:
        return False
    name, given = call.path.rpartition(".")[2], call.node.args
    if Generator.NUMPY in randomness.FUNCTIONS[call.path].generators:
        return call.keyword("size") is not None or (name in _SHAPED and bool(given))
    sizes = given if name in _SHAPED else given[-1:]
    return not sizes or not all(map(_is_one_number, sizes))


#: functions whose arguments are the shape of what they draw
_SHAPED = frozenset({"rand", "randn", "random", "random_sample", "standard_normal"})


def _is_one_number(shape: ast.expr) -> bool:
    """Whether it is `1`, `(1,)` or `()`."""
    sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    return all(isinstance(size, ast.Constant) and size.value == 1 for size in sizes)


def sources(draw: EqualDraw) -> frozenset[Generator]:
    """The generators of a rank of which a seed by rank may part what is drawn: a worker's are seeded from torch's, and
    where there are no workers, or torch is older than 1.9, they are the rank's own. What the rank itself draws by torch
    may be drawn on its GPU."""
    of_rank = (Generator.CUDA,) if Generator.TORCH in draw.generators else ()
    return frozenset({*draw.generators, *((Generator.TORCH,) if draw.by_worker else of_rank)})


def seeding(given: Iterable[CallEvent], draw: EqualDraw) -> list[CallEvent]:
    """Those of the calls that seed what is drawn from; all generators of workers are seeded from torch's."""
    sources = [{*draw.generators}] if not draw.by_worker else [{Generator.TORCH}, {*draw.generators}]
    found = ([call for call in given if not source.isdisjoint(seeds.row(call).generators)] for source in sources)
    return next(filter(None, found), [])


def together(given: Iterable[CallEvent], draw: EqualDraw) -> list[CallEvent]:
    """Those of the calls that run where something is drawn, too: not in an evaluation that is asked for instead."""
    return [call for call in given if not contradict((*call.context.guards, *draw.guards))]


def _parted_by_crops(facts: ModuleFacts) -> bool:
    """Whether the ranks' workers soon draw differently, though they begin alike: a crop of random size is drawn until
    it fits the picture, and the pictures' sizes differ, as far as anybody knows."""
    crops = facts.named(*randomness.DRAWN_UNTIL_FITTING)
    if not crops or any(map(_names_one_size, facts.modules)):
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
    counted = names_in(loop.node.target)
    ends = (s.test for s in loop.node.body if isinstance(s, ast.If) and isinstance(s.body[-1], ast.Break))
    return any(_reaches_few(test, counted) for test in ends)


def _reaches_few(test: ast.expr, counted: set[str]) -> bool:
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or test.left.id not in counted:
        return False
    end = test.comparators[0]
    reaches = isinstance(test.ops[0], (ast.GtE, ast.Gt, ast.Eq))
    return reaches and isinstance(end, ast.Constant) and isinstance(end.value, int) and end.value <= _FEW


def global_draws(facts: ModuleFacts) -> list[CallEvent]:
    """Draws from global generators, in the order of execution."""
    draws = (
        call for call in facts.named(*randomness.DRAWS)
        if call.keyword("generator") is None and not any(map(_in_its_place, call.context.guards))
        and not _is_dealt_out(call)
    )  # fmt: skip
    return sorted(draws, key=lambda call: call.index)


def _is_dealt_out(call: CallEvent) -> bool:
    """Whether it draws for all ranks, and each takes its own by its number: `rows.append(torch.randperm(n))`, and
    `rows[rank]`. Then the draws have to be equal."""
    function = call.context.function
    scope = function.node if function is not None else call.context.module.tree
    taken = {name for node in walk(scope) if (name := _taken_by_rank(node))}
    return bool(taken) and any(_holds(node, call.node, taken) for node in walk(scope))


def _taken_by_rank(node: ast.AST) -> str:
    """The name of that of which a rank takes its part by its number, "" of anything else."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return ""
    return node.value.id if heuristics.INDEX_OF_RANK.found_in_any(names_in(node.slice)) else ""


def _holds(statement: ast.AST, draw: ast.Call, names: set[str]) -> bool:
    """Whether a statement puts what is drawn into what has one of these names."""
    if isinstance(statement, ast.Assign):
        into = statement.targets
    elif isinstance(statement, ast.Call) and isinstance(statement.func, ast.Attribute):
        into = [statement.func.value] if statement.func.attr == "append" else []
    else:
        return False
    named = any(isinstance(target, ast.Name) and target.id in names for target in into)
    return named and any(part is draw for part in walk(statement))


def _in_its_place(guard: Guard) -> bool:
    """Whether it holds where something is not given: `if noise is None: noise = torch.randn_like(x)`."""
    return guard.side and guard.text.endswith(" is None") and guard.text[: -len(" is None")].isidentifier()


def _in_networks(facts: ModuleFacts) -> list[EqualDraw]:
    """In the forward of a wrapped model, if that is in another file."""
    if _only_evaluates(facts):
        return []
    given = [call.argument(0, "module") for call in facts.named(*DDP_PATHS)]
    given += [value for call in seeds.wrapping_by_framework(facts) for value in call.args]
    fits = [call for call in facts.methods("fit") if seeds.kind_of(call) == frameworks.LIGHTNING]
    given += [call.argument(0, "model") for call in fits]
    draws = [random_draws.in_network(facts.analysis, value) for value in given if value is not None]
    if fits and not any(draws):
        draws = [random_draws.in_trained(facts.analysis)]
    return [_of(draw, by_worker=False) for draw in draws if draw is not None]


def _only_evaluates(facts: ModuleFacts) -> bool:
    """Whether networks are set to evaluate, and nothing shows that any is trained."""
    trained = facts.methods("backward", "train", "zero_grad", "fit", "prepare", "setup")
    return bool(facts.methods("eval")) and not trained


def _of(draw: Draw, *, by_worker: bool) -> EqualDraw:
    return EqualDraw(draw.site, randomness.FUNCTIONS[draw.path].generators, by_worker, draw.by_sample)


def dataset_draw(facts: ModuleFacts) -> SourceSite | None:
    """Where a dataset draws, in its loader's workers."""
    sites = (call.site for call in global_draws(facts) if in_dataset(facts, call))
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
    unseen = seeds.trainers(facts) and facts.mentions("DataLoader")
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
    if call.context.no_grad or not seeds.trains(facts) or name in ("", "__init__", "__len__"):
        return False
    if name == "forward" and function is not None and function.owner is not None:
        return True
    own = {id(loop.node) for loop in call.context.loops if loop.node is not None}
    return any(id(loop.node) in own for backward in facts.methods("backward") for loop in backward.context.loops)


def noise(facts: ModuleFacts) -> list[tuple[CallEvent, Made]]:
    """Noise drawn in training from the program's own generator, with that generator."""
    draws = ((call, own_generator(call)) for call in facts.named(*randomness.NOISE))
    return [
        (call, made) for call, made in draws
        if made is not None and (in_dataset(facts, call) or _in_training(facts, call))
    ]  # fmt: skip


def own_generator(call: CallEvent) -> Made | None:
    """The program's own generator of torch that is drawn from."""
    given = call.keyword("generator")
    made = given.object if given is not None else None
    return made if isinstance(made, Made) and made.path == "torch.Generator" else None


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
