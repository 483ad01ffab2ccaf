"""Exceptions that one rank raises and others do not: those under a condition on its own data."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from ddpdoctor.lint.interpreter.trace import ENDS, BlockExit, Trace, steps
from ddpdoctor.lint.values.truths import rank_local
from ddpdoctor.program.modules import Module
from ddpdoctor.program.sites import SourceSite


def raised_alone(traces: Iterable[Trace], modules: Mapping[str, Module]) -> set[str]:
    """Class names of the exceptions."""
    sites = {site for trace in traces for site in _sites(trace)}
    return {name for site in sites if site.file in modules for name in _name(modules[site.file], site)}


def _sites(trace: Trace) -> Iterator[SourceSite]:
    for node, _, under, _ in steps(trace):
        if isinstance(node, BlockExit) and node.kind in ENDS and any(rank_local(branch.truth) for branch in under):
            yield node.site


def _name(module: Module, site: SourceSite) -> Iterable[str]:
    for node in module.of(ast.Raise):
        if node.lineno == site.line:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(raised, ast.Name):
                yield raised.id
            elif isinstance(raised, ast.Attribute):
                yield raised.attr
