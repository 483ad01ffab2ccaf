"""Exceptions that one rank raises and another does not: those under a condition on its own data."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, Loop, Node, Scope, Trace
from ddpdoctor.lint.values.truths import rank_local
from ddpdoctor.program.modules import Module
from ddpdoctor.program.sites import SourceSite


def raised_alone(traces: Iterable[Trace], modules: Mapping[str, Module]) -> set[str]:
    """Names of the exceptions' classes."""
    sites = {site for trace in traces for site in _sites(trace)}
    return {name for site in sites if site.file in modules for name in _name(modules[site.file], site)}


def _sites(trace: Trace) -> list[SourceSite]:
    found: list[SourceSite] = []
    stack: list[tuple[Node, bool]] = [(node, False) for node in trace]
    while stack:
        node, alone = stack.pop()
        if isinstance(node, BlockExit):
            if alone and node.kind == "raise":
                found.append(node.site)
        elif isinstance(node, Branch):
            own = alone or rank_local(node.truth)
            stack.extend((n, own) for n in (*node.then, *node.other))
        elif isinstance(node, (Loop, Scope)):
            stack.extend((n, alone) for n in node.body)
    return found


def _name(module: Module, site: SourceSite) -> Iterable[str]:
    for node in module.of(ast.Raise):
        if node.lineno == site.line:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(raised, ast.Name):
                yield raised.id
            elif isinstance(raised, ast.Attribute):
                yield raised.attr
