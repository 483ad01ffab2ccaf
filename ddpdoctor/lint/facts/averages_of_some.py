"""Averages over the ranks that a network takes only where this rank's batch has something in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, skipped_parts
from ddpdoctor.lint.facts.data_flow import DataFlow
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.trace import Branch, operates
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.ranks.reach import Reached
from ddpdoctor.lint.values.values import Symbol, Taint
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of, text_of


class AverageOfSome(NamedTuple):
    """A condition on the data, and the collective under it."""

    branch: Branch
    reached: Reached


def found(facts: ModuleFacts) -> Iterator[AverageOfSome]:
    """Collectives whose sum is divided by the number of ranks, so that these have different data, under a condition in
    a network's method on what is in its arguments, without any collective on the other side."""
    for item in facts.reached:
        if item.op.op != "all_reduce" or not _is_averaged(facts, item.op.site):
            continue
        branch = next((one for one in reversed(item.under) if _is_of_data(facts, one)), None)
        if branch is not None:
            yield AverageOfSome(branch, item)


def _is_averaged(facts: ModuleFacts, site: SourceSite) -> bool:
    """Whether the function that reduces divides by the number of ranks."""
    module = blocks.module_of(facts, site)
    function = innermost_function(module.tree, site.line) if module is not None else None
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        and heuristics.NUMBER_OF_RANKS.found_in(text_of(node.right))
        for node in (walk(function) if function is not None else ())
    )  # fmt: skip


def _is_of_data(facts: ModuleFacts, branch: Branch) -> bool:
    """Whether the data that a network is given decides a condition, of whose sides one alone has collectives."""
    atom = branch.truth[0]
    unknown = len(branch.truth) == 1 and isinstance(atom, Symbol) and atom.taint is Taint.UNKNOWN
    runs = operates(branch.then)
    test = expression_of(branch.text)
    if not unknown or runs == operates(branch.other) or test is None:
        return False
    module = blocks.module_of(facts, branch.site)
    method = _method_of_network(module, branch.site.line) if module is not None else None
    if method is None or not names_in(test).isdisjoint(method.signature.names) or _agreed(method, test):
        # a number that the method is given may be that of all ranks
        return False
    return skipped_parts.decides(test, DataFlow.of(method), runs=runs)


def _method_of_network(module: Module, line: int) -> FunctionInfo | None:
    """The method of a network that a line is in."""
    node = innermost_function(module.tree, line)
    networks = (c for c in module.classes if any(last_name(base).endswith("Module") for base in c.node.bases))
    return next((method for cls in networks for method in cls.methods.values() if method.node is node), None)


def _agreed(method: FunctionInfo, test: ast.expr) -> bool:
    """Whether what is asked is what a function has brought together: `if max(reduce_mean(count), 1) > 1`."""
    names = names_in(test)
    made = (node for node in walk(method.node) if isinstance(node, ast.Assign))
    read = [test, *(node.value for node in made if any(not names.isdisjoint(names_in(t)) for t in node.targets))]
    return any(heuristics.BRINGS_TOGETHER.found_in(text_of(part)) for part in read)
