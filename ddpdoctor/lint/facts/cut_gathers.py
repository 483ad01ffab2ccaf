"""What all ranks found of their samples, joined rank by rank and cut to the length of the data set."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Iteration
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

_JOINING = ("torch.cat", "torch.concat", "torch.concatenate")
_GATHERS = tuple(
    f"torch.distributed.{name}" for name in ("all_gather", "all_gather_into_tensor", "all_gather_single", "gather")
)
#: methods that keep the order of a tensor's rows
_SHOWING = frozenset({"cpu", "numpy", "flatten", "view", "reshape", "float", "tolist", "detach", "squeeze"})


class CutGather(NamedTuple):
    """Where the parts are joined, where the result is cut, and the sampler that dealt the samples out."""

    joined: CallEvent
    cut: SourceSite
    sampler: Made


def found(facts: ModuleFacts) -> Iterator[CutGather]:
    """Such results of a loop over a loader whose `DistributedSampler` deals out the samples in turn. Where a function
    gathers several things, these may belong together, in whatever order, or tell the order."""
    for call in facts.named(*_JOINING):
        if not call.args or not call.args[0].tags & Tag.GATHERED or not _joins_rows(call):
            continue
        module, function = blocks.module_of(facts, call.site), call.context.function
        if module is None or function is None or not _gathers_once(facts, call):
            continue
        for iteration in facts.iterations:
            sampler = loaders.sampler_of(iteration.loop.over)
            if sampler is None or not _is_before(iteration, call):
                continue
            cut = _cut_of(function.node, call.node, sampler)
            if cut is not None:
                yield CutGather(call, site_of(module, cut), sampler)
                break


def _joins_rows(call: CallEvent) -> bool:
    along = call.argument(1, "dim")
    return along is None or along.constant == 0


def _gathers_once(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the function of a call gathers one thing, after its loops."""
    sites = {
        (c.site, len(c.context.loops)) for c in facts.named(*_GATHERS, "torch.distributed.all_gather_object")
        if c.context.function is call.context.function
    }  # fmt: skip
    return len(sites) == 1 and next(iter(sites))[1] == len(call.context.loops)


def _is_before(iteration: Iteration, call: CallEvent) -> bool:
    """Whether a loop has ended in the same function when it comes to a call."""
    here, there = iteration.context, call.context
    if here.function is not there.function or here.chain != there.chain or iteration.index > call.index:
        return False
    return not any(loop.node is iteration.loop.node for loop in there.loops)


def _cut_of(function: ast.AST, joined: ast.Call, sampler: Made) -> ast.Subscript | None:
    """`joined[: len(data)]`"""
    names = {
        target.id for n in walk(function) if isinstance(n, ast.Assign) and _shown(n.value) is joined
        for target in n.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    for node in walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.lower is None:
            of = _shown(node.value)
            whole = of is joined or (isinstance(of, ast.Name) and of.id in names)
            if whole and node.slice.step is None and _is_length_of_data(node.slice.upper, sampler):
                return node
    return None


def _shown(node: ast.expr) -> ast.expr:
    """`scores` of `scores.cpu().numpy()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHOWING:
        node = node.func.value
    return node


def _is_length_of_data(node: ast.expr | None, sampler: Made) -> bool:
    """Whether it is `len(loader.dataset)`, or that of what the sampler was given."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "len" or len(node.args) != 1:
        return False
    given = sampler.node.args[:1] if sampler.node is not None else []
    return last_name(node.args[0]) == "dataset" or any(text_of(one) == text_of(node.args[0]) for one in given)
