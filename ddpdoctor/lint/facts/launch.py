"""How the script's processes are started."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddpdoctor.lint.facts.exclusion import contradict
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.interpreter import framework_objects
from ddpdoctor.lint.interpreter.events import CallEvent, Setting
from ddpdoctor.lint.interpreter.trace import operates
from ddpdoctor.lint.knowledge import aliases, frameworks, heuristics, launchers, packages, vocabulary
from ddpdoctor.lint.knowledge.packages import Does
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.options import declared_by
from ddpdoctor.program.sites import SourceSite

_GROUP = "torch.distributed.init_process_group"
#: modules that tests import: they run only on their author's machine
_TESTING = frozenset({"pytest", "unittest"})


def starts_processes(facts: ModuleFacts) -> bool:
    """Whether the program, as far as its words tell, starts processes; psutil's `Process` only measures one."""
    words = set(heuristics.STARTS_PROCESSES.words)
    for module in facts.modules:
        named = words & module.words
        if named - {"Process"} or (named and not _measures(module)):
            return True
    return False


def _measures(module: Module) -> bool:
    """Whether every `Process` that is written in the file is psutil's."""
    named = [n for kind in (ast.Attribute, ast.Name) for n in module.of(kind) if last_name(n) == "Process"]
    return bool(named) and all(module.imported(node) == "psutil.Process" for node in named)


def _of_groups(facts: ModuleFacts) -> list[Module]:
    """The file, and the files of the project that it uses and that name the start of a process group."""
    return [m for m in facts.modules if m is facts.module or "init_process_group" in m.words]


def one_node_only(facts: ModuleFacts) -> bool:
    """Whether the script is written for a single machine, where the local rank equals the rank."""
    if _is_test(facts):
        return True
    if any(map(_for_one_node, _of_groups(facts))):
        return True
    ranks = [call.argument(4, "rank") for call in facts.named(_GROUP)]
    if any(rank is not None and rank.tags & Tag.LOCAL_RANK for rank in ranks):
        return True
    return refuses_more(facts)


def _is_test(facts: ModuleFacts) -> bool:
    return any(path.partition(".")[0] in _TESTING for path in facts.module.imports.values())


def tested_alone(facts: ModuleFacts) -> bool:
    """Whether the file tests in one process: it starts no ranks, and makes no group or one of its own size."""
    if not _is_test(facts) or _spawning(facts):
        return False
    return not facts.named(*_STARTS) or _says_one(facts.module)


def _says_one(module: Module) -> bool:
    """Whether it puts into the environment, for those that ask there, that there is one process."""
    sizes = [node.value for node in module.of(ast.Assign) for target in node.targets if _is_size(target)]
    return bool(sizes) and all(isinstance(size, ast.Constant) and size.value == "1" for size in sizes)


def _is_size(target: ast.expr) -> bool:
    key = target.slice if isinstance(target, ast.Subscript) else None
    return isinstance(key, ast.Constant) and key.value == "WORLD_SIZE"


def _for_one_node(module: Module) -> bool:
    """Whether its text speaks of one machine elsewhere than where nothing else is given: `get("MASTER_ADDR", ...)`."""
    words = [word for word in heuristics.ONE_NODE.words if word in module.text]
    if not words or heuristics.LOOKS_UP_NODES.found_in(module.text):
        return False
    defaults = [text for kind in (ast.Call, ast.arguments) for node in module.of(kind) for text in _defaults(node)]
    return any(module.text.count(word) > sum(text.count(word) for text in defaults) for word in words)


#: methods whose second argument stands in for what is missing
_STAND_IN = frozenset({"get", "getenv", "setdefault"})


def _defaults(node: ast.AST) -> list[str]:
    """Strings that count only if nobody gives another one: the environment, the command line, a caller."""
    given: Sequence[ast.expr | None] = ()
    if isinstance(node, ast.Call) and last_name(node.func) in _STAND_IN:
        given = node.args[1:2]
    elif isinstance(node, ast.Call):
        option = declared_by(node)
        given = (option.default, option.help) if option is not None else ()
    elif isinstance(node, ast.arguments):
        given = [*node.defaults, *node.kw_defaults]
    return [value.value for value in given if isinstance(value, ast.Constant) and isinstance(value.value, str)]


#: comparisons that hold on one machine, in an assertion and where it fails: (job with machine, machine with job)
_ASSERTED = {ast.Eq: (True, True), ast.LtE: (True, False), ast.GtE: (False, True)}
_REFUSED = {ast.NotEq: (True, True), ast.Gt: (True, False), ast.Lt: (False, True)}


def refuses_more(facts: ModuleFacts) -> bool:
    """Whether the program ends at once on more than one machine: it compares the job's ranks with the machine's."""
    modules = _of_groups(facts)
    return any(_one_machine(left, right) for module in modules for left, right in _compared(module))


def _compared(module: Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(what must not be larger, than what), from assertions and from conditions under which something is raised."""
    tests = [(node.test, _ASSERTED) for node in module.of(ast.Assert)]
    tests += [(node.test, _REFUSED) for node in module.of(ast.If) if isinstance(node.body[-1], ast.Raise)]
    for test, orders in tests:
        parts = test.values if isinstance(test, ast.BoolOp) and orders is _ASSERTED else [test]
        for part in parts:
            if isinstance(part, ast.Compare) and len(part.ops) == 1:
                straight, turned = orders.get(type(part.ops[0]), (False, False))
                if straight:
                    yield part.left, part.comparators[0]
                if turned:
                    yield part.comparators[0], part.left


def _one_machine(job: ast.expr, node: ast.expr) -> bool:
    """Whether it compares world size and the machine's devices, or rank and local rank, without arithmetic."""
    of_job, of_node = _words(job), _words(node)
    kinds = [not of_job.isdisjoint(row.words) for row in (heuristics.JOB_RANK, heuristics.JOB_SIZE)]
    others = [not of_node.isdisjoint(row.words) for row in (heuristics.NODE_RANK, heuristics.NODE_SIZE)]
    return sum(kinds) == 1 and kinds == others


def _words(value: ast.expr) -> set[str]:
    """Names, attributes and strings in an expression, in lower case; empty if it contains arithmetic."""
    found: set[str] = set()
    for node in walk(value):
        if isinstance(node, (ast.BinOp, ast.BoolOp, ast.IfExp)):
            return set()
        if isinstance(node, (ast.Name, ast.Attribute)):
            found.add(last_name(node).lower())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value.lower())
    return found


def told_of_nodes(facts: ModuleFacts) -> bool:
    """Whether the file is told of the job's nodes: by an option, or by a variable of the launcher's, and does not say
    that there is only the first one."""
    return heuristics.SEVERAL_NODES.found_in(facts.module.text) and not _is_first_node(facts.module)


def _is_first_node(module: Module) -> bool:
    """Whether it says that its machine is the first one, wherever it says which it is: `args.node_rank = 0`."""
    told = [n.value for n in module.of(ast.Assign) if any(last_name(t) in _OF_NODE for t in n.targets)]
    return bool(told) and all(isinstance(value, ast.Constant) and value.value == 0 for value in told)


#: what the number of a machine is called
_OF_NODE = frozenset({"node_rank", "machine_rank"})


#: how a message begins of what is done to one path where `is_one_on_each_node`
IF_ONE_DISK = "if the machines share this disk, "


def is_one_on_each_node(facts: ModuleFacts) -> bool:
    """Whether each machine runs one process, that is told its rank and the number of machines: what the ranks do to
    one path they do on disks of their own, as a rule."""
    modules = _of_groups(facts)
    options = {name for module in modules for name in module.options}
    if "rank" not in options or not any(map(heuristics.COUNTS_NODES.found_in, options)):
        return False
    several = {*heuristics.NODE_RANK.words, *heuristics.NODE_SIZE.words, *heuristics.STARTS_SEVERAL.words}
    return all(several.isdisjoint(module.words) for module in modules)


#: calls after which there are several processes
_STARTS = (*vocabulary.GROUP_CALLS, *vocabulary.GROUP_HELPERS, *DDP_PATHS)


def several(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether several processes reach a call of the script: they were started before it, or the script itself was
    started several times by a launcher whose variables it reads.
    """
    if in_one_process(facts, call):
        return False
    # `if distributed: start()`, and the call is on the other side: what it needs, nothing has started
    starts = [
        start
        for start in facts.named(*_STARTS)
        if not contradict((*start.context.guards, *call.context.guards)) and not of_one_process(start)
    ]
    spawned = _spawning(facts)
    mine = spawned.intersection(call.context.chain)
    # what is started in a process that was spawned is not started in the one that spawns
    if any(start.index < call.index and spawned.intersection(start.context.chain) <= mine for start in starts):
        return True
    return bool(starts) and by_launcher(facts)


def of_one_process(start: CallEvent) -> bool:
    """Whether it makes a group of which the program says that it has one member."""
    size = start.argument(3, "world_size") if start.path == _GROUP else None
    return size is not None and size.known and size.constant == 1


def in_one_process(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the script makes a call alone that it has the ranks make which it spawns:
    `if gpus > 1: mp.spawn(train, ...)`, `else: train(0, ...)`."""
    spawned = _spawning(facts)
    if not spawned or spawned.intersection(call.context.chain):
        return False
    return any(spawned.intersection(other.context.chain) for other in facts.calls_by_site.get(call.site, ()))


def is_spawned(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a call is made in a process that the script spawns."""
    return not _spawning(facts).isdisjoint(call.context.chain)


def _spawning(facts: ModuleFacts) -> set[SourceSite]:
    """Where ranks are spawned, all at once or one by one."""
    return {spawn.site for spawn in facts.named(*frameworks.SPAWNING, *frameworks.PROCESSES)}


def by_launcher(facts: ModuleFacts) -> bool:
    """Whether a launcher starts the script once for each rank: it, or the file of the project that makes the group for
    it, reads what the launcher says, and nothing starts processes."""
    if facts.suggests(heuristics.STARTS_PROCESSES):
        return False
    said = {*launchers.VARIABLES, *launchers.OPTIONS}
    constants = (node.value for module in _of_groups(facts) for node in module.of(ast.Constant))
    return any(value.__class__ is str and value in said for value in constants)


def knows_ranks(facts: ModuleFacts) -> bool:
    """Whether the file itself does something that only a job of several ranks needs."""
    if any(len(event.guard.truth) > 1 for event in facts.analysis.branches):
        return True
    return any(operates(root.trace) for root in facts.analysis.roots)


#: what trains on several ranks: classes of frameworks
_TRAINERS = frozenset({
    frameworks.ACCELERATOR, frameworks.FABRIC, frameworks.LIGHTNING, frameworks.TRAINER, frameworks.RUNNER,
})  # fmt: skip


def trains_on_several(facts: ModuleFacts) -> bool:
    """Whether the file's program can be started on several ranks: it asks for its rank, uses a trainer of a framework,
    or has a file of the project train that uses one; and it does not start the processes itself."""
    if facts.suggests(heuristics.STARTS_PROCESSES) or packages.imported(facts.module.imports.values(), Does.STARTS):
        return False
    if knows_ranks(facts):
        return True
    return not facts.named(*frameworks.IN_ONE_PROCESS) and (_uses_trainer(facts) or _has_trained(facts))


def _uses_trainer(facts: ModuleFacts) -> bool:
    made = {call.path for call in facts.calls} | {aliases.canonical(path) for path in facts.module.imports.values()}
    return any(map(_is_trainer, made))


def has_been_trained(facts: ModuleFacts, call: CallEvent, *, ever: bool = False) -> bool:
    """Whether a trainer of transformers, which makes the group where several processes were started, has trained before
    the call, in the same run; `ever`: or trains after it."""
    return any(
        (ever or other.index < call.index)
        and other.context.calls[:1] == call.context.calls[:1]
        and other.receiver is not None
        and _is_trainer_of_transformers(facts, other.receiver.object)
        for other in facts.methods("train")
    )


def trained_by_transformers(facts: ModuleFacts) -> list[CallEvent]:
    """Where a trainer of transformers trains, which divides its data sets between the ranks by index."""
    return [
        call for call in facts.methods("train")
        if call.receiver is not None and _is_trainer_of_transformers(facts, call.receiver.object)
    ]  # fmt: skip


def _is_trainer_of_transformers(facts: ModuleFacts, trainer: object) -> bool:
    if isinstance(trainer, Instance):
        return frameworks.TRAINER in framework_objects.bases(facts.analysis, trainer.info)
    return isinstance(trainer, Made) and frameworks.kind(trainer.path) == frameworks.TRAINER


def _has_trained(facts: ModuleFacts) -> bool:
    """Whether it calls a function that trains, in files that use a trainer."""
    called = (last_name(node.func) for node in facts.module.of(ast.Call))
    others = {path for module in facts.modules for path in module.imports.values()}
    return heuristics.TRAINS.found_in_any(called) and any(_is_trainer(aliases.canonical(path)) for path in others)


def _is_trainer(path: str) -> bool:
    return frameworks.kind(path) in _TRAINERS or path in DDP_PATHS


def uses_framework(facts: ModuleFacts) -> bool:
    """Whether the program uses a package that trains on several ranks."""
    modules = facts.modules
    return any(packages.imported(module.imports.values(), Does.KNOWN) for module in modules)


#: how Lightning's trainer is told of several ranks
_OF_SEVERAL = ("strategy", "devices", "gpus", "num_nodes")
#: settings with which it may train on one device
_OF_ONE = (None, 0, 1, "0", "1", "auto", "cpu")


def is_of_one_device(trainer: CallEvent) -> bool:
    """Whether a trainer of Lightning is told that there is one device, on one machine: `devices=1`, `gpus=[0]`."""
    devices, nodes = trainer.keyword("devices") or trainer.keyword("gpus"), trainer.keyword("num_nodes")
    if devices is None or (nodes is not None and nodes.constant != 1):
        return False
    listed = containers.parts_of(devices)
    return len(listed) == 1 if listed is not None else devices.constant in (1, "1")


def says_alone(facts: ModuleFacts) -> bool:
    """Whether the program says that it is one process: by the size of each group that it makes, by the one GPU that it
    leaves to all, or by the devices of each trainer of Lightning, where it makes no group."""
    trainers = facts.named(frameworks.LIGHTNING)
    groups = facts.named("torch.distributed.init_process_group")
    of_one = bool(trainers) and not groups and all(map(is_of_one_device, trainers))
    own = (setting for setting in facts.analysis.settings if setting.site.file == facts.module.path)
    # ranks that meet by gloo need no GPU
    on_gpus = not any((backend := call.argument(0, "backend")) and backend.constant == "gloo" for call in groups)
    return facts.alone or of_one or (on_gpus and any(map(_leaves_one_gpu, own)))


def _leaves_one_gpu(setting: Setting) -> bool:
    """`os.environ["CUDA_VISIBLE_DEVICES"] = "0"`, which NCCL takes from one rank only."""
    number = setting.value.constant if setting.name == "CUDA_VISIBLE_DEVICES" else None
    chosen = setting.context.guards or setting.context.loops or setting.context.some_ranks_only
    return isinstance(number, str) and not chosen and number.strip().isdigit()


def trainers_of_ranks(facts: ModuleFacts) -> list[CallEvent]:
    """Lightning's trainers that are told of several devices or machines, or by which strategy their ranks train."""
    return [
        call for call in facts.named(frameworks.LIGHTNING)
        if any(given is not None and (not given.known or given.constant not in _OF_ONE)
               for given in map(call.keyword, _OF_SEVERAL))
    ]  # fmt: skip
