"""Samples that all ranks make alike: in a job that learns nothing, of noise from generators that are seeded alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import equal_draws, random_draws, sample_flow
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Context
from ddpdoctor.lint.knowledge import aliases, heuristics, randomness
from ddpdoctor.lint.knowledge.randomness import Generator
from ddpdoctor.lint.values.abstract_objects import Items, Made
from ddpdoctor.lint.values.tags import ANY_RANK, BY_RANK, Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.nodes import last_name, walk

#: put together what all ranks have made: functions of torch.distributed, and methods of frameworks' objects
_GATHERING = tuple(
    f"torch.distributed.{name}" for name in ("all_gather", "all_gather_into_tensor", "gather", "all_gather_object",
                                             "gather_object")
)  # fmt: skip
_GATHERS = ("gather", "gather_for_metrics", "all_gather")
_GROUPS = ("group", "process_group")
#: write a picture, a film or an array under the name that they are given
_WRITES = frozenset({"save", "savez", "save_image", "imwrite", "imsave", "write_video", "export_to_video", "save_file"})
#: put many samples together to one
_JOINING = frozenset({"torch.cat", "torch.stack", "numpy.concatenate", "numpy.stack"})

#: a network that has learnt is read, and asked
_READS_NETWORK = ("load_state_dict", "from_pretrained", "load")
_ASKS_NETWORK = ("eval", "no_grad", "inference_mode")
#: what gives each rank its share of something, or parts a model among ranks that need equal noise
_SHARES = (
    "DataLoader", "split_between_processes", "init_device_mesh", "parallelize_module", "new_group", "DeviceMesh",
    "broadcast", "broadcast_object_list",
)  # fmt: skip


def sampled(facts: ModuleFacts, generators: frozenset[Generator]) -> list[equal_draws.EqualDraw]:
    """Draws from these generators, again and again, of what all ranks make samples of that are then put together."""
    if not _makes_samples(facts):
        return []
    together = _put_together(facts)
    return [
        equal_draws.EqualDraw(call.site, randomness.FUNCTIONS[call.path].generators, by_worker=False)
        for call in equal_draws.global_draws(facts)
        if not generators.isdisjoint(randomness.FUNCTIONS[call.path].generators)
        and equal_draws.is_of_many(call)
        and _is_part(facts, call, together)
    ]


def own_noise(facts: ModuleFacts) -> list[tuple[CallEvent, Made]]:
    """The same from the program's own generators, with these."""
    if not _makes_samples(facts):
        return []
    together = _put_together(facts)
    draws = ((call, equal_draws.own_generator(call)) for call in facts.named(*randomness.DRAWS))
    return [(call, made) for call, made in draws if made is not None and _is_part(facts, call, together)]


def _makes_samples(facts: ModuleFacts) -> bool:
    """Whether a network that has learnt makes something of nothing but noise: no rank has a share of any data."""
    if not (facts.mentions(*_READS_NETWORK) and facts.mentions(*_ASKS_NETWORK)) or facts.mentions(*_SHARES):
        return False
    if facts.named(aliases.LOADER) or facts.suggests(heuristics.SPLITS_DATA, heuristics.SPLITS_LOADERS):
        return False
    return not any(_is_share(loop.loop.over) for loop in facts.iterations) and not _uses_ranks(facts)


def _is_share(over: Value | None) -> bool:
    return over is not None and bool(over.tags & (BY_RANK | Tag.IN_GROUP))


def _put_together(facts: ModuleFacts) -> list[CallEvent]:
    """Where what all ranks have made becomes one: it is gathered, or each rank writes it under names of its own."""
    gathered = [call for call in (*facts.named(*_GATHERING), *facts.methods(*_GATHERS)) if _is_gather(call)]
    named = [
        call for call in facts.calls
        if (call.path or call.method).rpartition(".")[2] in _WRITES and any(map(_is_named_by_rank, call.args))
    ]  # fmt: skip
    return [*gathered, *named]


def _is_gather(call: CallEvent) -> bool:
    """Whether all ranks of the job do it; an unknown object's `gather` takes elements of a tensor by an index."""
    if any(call.keyword(name) is not None for name in _GROUPS) or call.context.some_ranks_only:
        return False
    made = call.receiver.object if call.receiver is not None else None
    return bool(call.path) or isinstance(made, Made)


def _is_named_by_rank(given: Value) -> bool:
    return bool(given.tags & ANY_RANK)


def _is_part(facts: ModuleFacts, call: CallEvent, together: list[CallEvent]) -> bool:
    """Whether all ranks draw it in a loop that puts samples together, or before what it made is put together."""
    context = call.context
    if context.some_ranks_only or not context.loops or any(_is_share(guard.value) for guard in context.guards):
        return False
    return any(
        (_in_loop(context, other) or (other.index > call.index and _is_joined(other)))
        and sample_flow.comes_to(facts, call, other)
        for other in together
    )


def _in_loop(context: Context, other: CallEvent) -> bool:
    own = {id(loop.node) for loop in context.loops}
    return any(id(loop.node) in own for loop in other.context.loops)


def _is_joined(call: CallEvent) -> bool:
    """Whether it is given a tensor that many were put together to."""
    items = [item for given in call.args for item in _items(given)]
    return any(isinstance(item.object, Made) and item.object.path in _JOINING for item in items)


def _items(given: Value) -> tuple[Value, ...]:
    return given.object.items if isinstance(given.object, Items) else (given,)


#: calls that are given a rank for something else than a share: a device, a name, a message, a seed
_HARMLESS = frozenset({
    "print", "info", "debug", "warning", "log", "set_device", "device", "to", "cuda", "str", "int", "bool", "format",
    "join", "Path", "makedirs", "mkdir", "init_process_group", "tqdm", "trange", "barrier", "tensor", "get", "getenv",
    "add_argument", "write", "append", "all_gather", "gather", "all_gather_into_tensor", "gather_object", "empty_like",
    "zeros_like", "ceil", "destroy_process_group", "device_count", "max", "min",
})  # fmt: skip


def _uses_ranks(facts: ModuleFacts) -> bool:
    """Whether something is chosen by rank: `prompts[rank::world]`, `range(rank, count, world)`, `share(data, rank)`."""
    nodes = list(random_draws.run_nodes(facts.analysis))
    names = _named_by_rank(nodes)
    for node in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _mentions(node.slice, names):
            return True
        if isinstance(node, ast.Call) and last_name(node.func) not in _HARMLESS | _WRITES:
            given = (*node.args, *(keyword.value for keyword in node.keywords))
            if any(not isinstance(part, ast.JoinedStr) and _mentions(part, names) for part in given):
                return True
    return False


def _named_by_rank(nodes: list[ast.AST]) -> frozenset[str]:
    """Names of ranks, and of what is computed from them with nothing else in sight."""
    names: frozenset[str] = frozenset()
    stores = [node for node in nodes if isinstance(node, ast.Assign) and not isinstance(node.value, ast.JoinedStr)]
    for _ in range(_STEPS):
        names |= {
            last_name(target) for node in stores if _is_number(node.value) and _mentions(node.value, names)
            for target in node.targets
        }  # fmt: skip
    return names


#: assignments from a rank to what it chooses
_STEPS = 3


def _is_number(value: ast.expr) -> bool:
    return not isinstance(value, ast.Call) or last_name(value.func) in ("int", "min", "max")


def _mentions(expression: ast.expr, names: frozenset[str]) -> bool:
    """Whether a rank, or a name that was computed from one, is in an expression, elsewhere than in a text."""
    return any(name in names or heuristics.NUMBER_OF_RANK.found_in(name) for name in _words(expression))


def _words(expression: ast.expr) -> Iterator[str]:
    text = {id(part) for node in walk(expression) if isinstance(node, ast.JoinedStr) for part in walk(node)}
    for node in walk(expression):
        if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in text:
            yield last_name(node)
