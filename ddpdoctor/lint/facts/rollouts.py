"""Data that a rank collects itself while it trains: what its own model has generated, and is then trained on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

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
    around that call fills with what the model has generated in it, or what a step of such a loop has generated."""
    context = iteration.context
    if any(_hands_on(facts, context.chain[: at + 1]) for at in range(len(context.chain))):
        return True
    sites = [*context.chain, *([loader.site] if loader.site is not None else [])]
    if context.calls and not context.from_script:
        # what calls the outermost function may not have been followed that far
        name = context.calls[0].rpartition(".")[2]
        sites += [site_of(facts.module, n) for n in facts.module.of(ast.Call) if last_name(n.func) == name]
    return any(_fills(module, site) for site in sites if (module := blocks.module_of(facts, site)) is not None)


def _hands_on(facts: ModuleFacts, way: Sequence[SourceSite]) -> bool:
    """Whether the last call of a way is given a variable that its function has from the model, anew in each pass of a
    loop: `rollouts = self.rollout(prompts); self.learn(rollouts)`."""
    site, module = way[-1], blocks.module_of(facts, way[-1])
    scope = innermost_function(module.tree, site.line) if module is not None else None
    nodes = walk(scope) if scope is not None else []
    given = _given(nodes, site)
    made = (n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and n.lineno < site.line)
    generated = (
        heuristics.GENERATES.found_in(last_name(one.value.func)) and not given.isdisjoint(map(last_name, one.targets))
        for one in made if isinstance(one.value, ast.Call)
    )  # fmt: skip
    return bool(given) and any(generated) and any(_is_repeated(facts, step) for step in way)


def _is_repeated(facts: ModuleFacts, site: SourceSite) -> bool:
    module = blocks.module_of(facts, site)
    return module is not None and _loop_around(module, site) is not None


def _loop_around(module: Module, site: SourceSite) -> ast.stmt | None:
    scope = innermost_function(module.tree, site.line)
    around = statements_around(scope, site.line) if scope is not None else []
    return next((s for s in around if isinstance(s, (ast.For, ast.While))), None)


def _given(nodes: Iterable[ast.AST], site: SourceSite) -> set[str]:
    """The variables that a call is given."""
    return {
        arg.id for call in nodes if isinstance(call, ast.Call)
        and (call.lineno, call.col_offset + 1) == (site.line, site.column)
        for arg in (*call.args, *(k.value for k in call.keywords)) if isinstance(arg, ast.Name)
    }  # fmt: skip


def _fills(module: Module, site: SourceSite) -> bool:
    loop = _loop_around(module, site)
    calls = [node for node in walk(loop) if isinstance(node, ast.Call)] if loop is not None else []
    given = _given(calls, site)
    if not given or not any(heuristics.GENERATES.found_in(last_name(call.func)) for call in calls):
        return False
    adding = (call.func for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING)
    return any(isinstance(func.value, ast.Name) and func.value.id in given for func in adding)
