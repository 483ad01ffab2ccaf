"""Data that a rank collects itself while it trains: what its own model has generated, and is then trained on."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import Iteration
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.program.enclosing import innermost_function, statements_around
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of

#: methods that put something more into a collection
_ADDING = frozenset({"append", "extend", "appendleft", "add", "push"})


def learns_from(facts: ModuleFacts, iteration: Iteration, loader: Made) -> bool:
    """Whether a call on the way to a loop over a loader, or to the loader itself, is given a collection that the loop
    around that call fills with what the model has generated in it."""
    context = iteration.context
    sites = [*context.chain, *([loader.site] if loader.site is not None else [])]
    if context.calls and not context.from_script:
        # what calls the outermost function may not have been followed that far
        name = context.calls[0].rpartition(".")[2]
        sites += [site_of(facts.module, n) for n in facts.module.of(ast.Call) if last_name(n.func) == name]
    return any(_fills(module, site) for site in sites if (module := blocks.module_of(facts, site)) is not None)


def _fills(module: Module, site: SourceSite) -> bool:
    scope = innermost_function(module.tree, site.line)
    around = statements_around(scope, site.line) if scope is not None else []
    loop = next((s for s in around if isinstance(s, (ast.For, ast.While))), None)
    calls = [node for node in walk(loop) if isinstance(node, ast.Call)] if loop is not None else []
    given = {
        arg.id for call in calls if (call.lineno, call.col_offset + 1) == (site.line, site.column)
        for arg in (*call.args, *(k.value for k in call.keywords)) if isinstance(arg, ast.Name)
    }  # fmt: skip
    if not given or not any(heuristics.GENERATES.found_in(last_name(call.func)) for call in calls):
        return False
    adding = (call.func for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING)
    return any(isinstance(func.value, ast.Name) and func.value.id in given for func in adding)
