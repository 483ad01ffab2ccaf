"""Numbers that a program tells of an evaluation: where it prints, logs or writes what it has computed of the batches of
one rank's share of the data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, brought_together, evaluations, loaders, own_parts
from ddpdoctor.lint.facts.brought_together import Span
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import batches
from ddpdoctor.lint.interpreter.events import CallEvent, Iteration
from ddpdoctor.lint.knowledge import collectives, heuristics
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Made, Table
from ddpdoctor.lint.values.tags import ANY_RANK, SHARES, Tag, union
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite


class Report(NamedTuple):
    """A call that tells a number, and the evaluation that it comes from."""

    call: CallEvent
    evaluation: Iteration
    #: where its data was divided among the ranks
    divided: SourceSite
    #: one rank alone tells it, or a framework or tracker for all of them
    by_one: bool


#: lists and dicts in one another that are told
_DEPTH = 3
#: functions that make a text of what is told
_TEXTS = frozenset({"json.dumps", "pprint.pformat", "builtins.str", "builtins.repr"})


def reports(facts: ModuleFacts) -> Iterator[Report]:
    """What is told after evaluations of a share, once of each: the first that one rank tells, if there is one."""
    found: dict[SourceSite, Report] = {}
    for report in _every(facts):
        loop = report.evaluation.loop.site
        known = found.get(loop)
        if known is None or (report.by_one and not known.by_one):
            found[loop] = report
    yield from found.values()


def _every(facts: ModuleFacts) -> Iterator[Report]:
    of_data = [i for i in facts.iterations if _evaluates(facts, i)]
    divided = {id(i): site for i in of_data if (site := _divided(facts, i)) is not None}
    for call in facts.concerning(_tells) if divided else ():
        # of each loop the last run
        last = {i.loop.site: i for i in of_data if led_to(call, i)} if _tells_number(call) else {}
        before = sorted(last.values(), key=lambda i: i.index)
        # where the names do not say which evaluation it is of, it may be of any
        of_these = [i for i in before if _gives_to(i, call)] or before
        if of_these and all(id(i) in divided and not _may_be_reduced(facts, call, i) for i in of_these):
            yield Report(call, of_these[-1], divided[id(of_these[-1])], _by_one(call))


def _evaluates(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether a loop evaluates on what a loader gives, or on what a framework has prepared."""
    over = iteration.loop.over
    if over is None or (loaders.loader_of(over) is None and not over.tags & Tag.PREPARED):
        return False
    return batches.evaluates(iteration.context, iteration.loop.node) and not evaluations.trains(facts, iteration)


def _gives_to(iteration: Iteration, call: CallEvent) -> bool:
    """Whether what is told is named after what the loop, or the call that leads to it, has filled or given."""
    function = call.context.function
    scope: ast.AST = function.node if function is not None else call.context.module.tree
    told = own_parts.made_of(scope, names_in(call.node))
    depth = len(call.context.chain)
    if depth == len(iteration.context.chain):
        loop = walk(iteration.loop.node)
        stored = {n.id for n in loop if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return bool(told & (stored | {name for node in loop for name in own_parts.filled(node)}))
    line = iteration.context.chain[depth].line
    given = (node for node in walk(scope) if isinstance(node, ast.Assign) and line in _lines(node))
    return any(told & names_in(target) for node in given for target in node.targets)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _may_be_reduced(facts: ModuleFacts, call: CallEvent, iteration: Iteration) -> bool:
    """Whether something brings together what the ranks have, in the functions that come from the call's to the loop, or
    between the two: a collective, or what may be one by its name. Not where a number that is told has no part in it."""
    spans = list(_between(facts, call, iteration))
    return any(_brings_together(facts, span) for span in spans) and not brought_together.is_beside(
        facts, call, iteration, spans
    )


def _between(facts: ModuleFacts, call: CallEvent, iteration: Iteration) -> Iterator[Span]:
    """The lines from where the call's function starts the evaluation to the call, and of the functions that this
    leads to."""
    depth = len(call.context.chain)
    first, *others = (*iteration.context.chain[depth:], iteration.loop.site)
    yield Span(call.context.module, first.line, call.site.end_line)
    for site in others:
        module = blocks.module_of(facts, site)
        function = innermost_function(module.tree, site.line) if module is not None else None
        if module is not None and function is not None:
            yield Span(module, function.lineno, function.end_lineno or function.lineno)


def _brings_together(facts: ModuleFacts, span: Span) -> bool:
    ways = (
        item.within(span.module.path, span.first, span.last)
        for item in facts.reached
        if item.op.op in collectives.PUTTING_TOGETHER
    )
    called = (n for n in span.module.of(ast.Call) if span.first <= n.lineno <= span.last)
    return any(way is not None for way in ways) or heuristics.PUTS_TOGETHER.found_in_any(
        last_name(call.func) for call in called
    )


def _divided(facts: ModuleFacts, iteration: Iteration) -> SourceSite | None:
    """Where the data of a loop was divided among the ranks; None if that is not known of it."""
    over = iteration.loop.over
    if over is None:
        return None
    sampler = loaders.sampler_of(over)
    if sampler is not None:
        number = sampler.argument(1, "num_replicas")
        return sampler.site if not sampler.opaque and (number is None or number.constant != 1) else None
    loader = loaders.loader_of(over)
    if over.tags & Tag.PREPARED:
        return loader.site if loader is not None else iteration.loop.site
    if loader is None:
        return None
    given = (loader.argument(0, "dataset"), loader.argument(3, "sampler"), loader.argument(4, "batch_sampler"))
    tags = union(loaders.shard_tags(facts, value) for value in given if value is not None)
    parted = tags & SHARES or any(value is not None and own_parts.is_share(value) for value in given)
    return loader.site if parted else None


def _tells(name: str) -> bool:
    """Whether a function or `.method` prints, logs or writes what it is given; `torch.log` computes something."""
    return heuristics.TELLS.found_in(name.rpartition(".")[2]) and not name.startswith(_COMPUTING)


#: functions and methods that write into a file
_WRITING = frozenset({"write", "dump", "dumps"})


def _name_of(call: CallEvent) -> str:
    return call.method or call.path.rpartition(".")[2]


#: packages whose `log` is a logarithm
_COMPUTING = ("torch.", "numpy.", "math.", "scipy.", "jax.")


def _tells_number(call: CallEvent) -> bool:
    """Whether a number of this rank's evaluation is told, and nothing says of which rank. Of a file that all ranks
    write something else is wrong."""
    if _name_of(call) in _WRITING and not call.context.some_ranks_only:
        return False
    given = [part for value in (*call.args, *(value for _, value in call.keywords)) for part in _parts(value)]
    tags = union(part.tags for part in given)
    if tags & (ANY_RANK | Tag.RANK_BY_NAME | Tag.IN_GROUP):
        return False
    return any(
        part.tags & (Tag.EVALUATED | Tag.EXAMPLE) == Tag.EVALUATED and part.taint >= Taint.UNKNOWN for part in given
    )


def _by_one(call: CallEvent) -> bool:
    """Whether all that is seen is one rank's number: a plain `print` shows those of all ranks."""
    return call.context.some_ranks_only or call.path not in _BY_EACH


#: write what each rank tells
_BY_EACH = frozenset({"builtins.print", "tqdm.tqdm.write", "pprint.pprint"})


def _parts(value: Value, depth: int = 0) -> Iterator[Value]:
    """A value, and what is in it."""
    yield value
    obj = value.object
    if depth == _DEPTH:
        return
    if isinstance(obj, Table):
        for _, part in obj.entries:
            yield from _parts(part, depth + 1)
    elif isinstance(obj, Items):
        for part in obj.items:
            yield from _parts(part, depth + 1)
    elif isinstance(obj, Listed) and obj.element is not None:
        yield from _parts(obj.element, depth + 1)
    elif isinstance(obj, Made) and obj.path in _TEXTS:
        for part in obj.args:
            yield from _parts(part, depth + 1)


def led_to(call: CallEvent, iteration: Iteration) -> bool:
    """Whether the loop has come to its end before a call, in the same function or in one that this has called."""
    if call.index < iteration.index or any(loop.node is iteration.loop.node for loop in call.context.loops):
        return False
    here, there = call.context, iteration.context
    return here.chain == there.chain[: len(here.chain)] and here.calls == there.calls[: len(here.calls)]
