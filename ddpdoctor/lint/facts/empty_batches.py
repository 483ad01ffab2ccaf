"""Batches of which nothing is left on one rank, where the project's own function puts them together and gives None for
samples that cannot be used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import batches
from ddpdoctor.lint.interpreter.trace import Branch
from ddpdoctor.lint.values.abstract_objects import Function, Made
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.text import expression_of

#: of the arguments of torch's DataLoader
_COLLATE = (6, "collate_fn")


def emptied_by(facts: ModuleFacts, branch: Branch) -> str:
    """The function that gives None in place of a batch, where the branch asks for that; "" if it asks for something
    else, or nothing is known to give None."""
    name = _asked(branch.text)
    at = branch.site
    for iteration in facts.iterations if name else ():
        loop, over = iteration.loop, iteration.loop.over
        around = loop.site.file == at.file and loop.site.line <= at.line <= loop.site.end_line
        if not around or over is None or not _binds(loop.node, name) or batches.same_everywhere(over):
            continue
        loader = loaders.loader_of(over)
        collate = collate_of(loader) if loader is not None else None
        if collate is not None and any(map(_may_be_none, _returned(collate))):
            return collate.name
    return ""


def _asked(text: str) -> str:
    """The variable of which a condition asks whether it is there: `batch is None`, `batch is not None`, `not batch`."""
    asked = expression_of(text)
    if isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not):
        asked = asked.operand
    elif isinstance(asked, ast.Compare):
        other = asked.comparators[0]
        asked = asked.left if isinstance(other, ast.Constant) and other.value is None else None
    return asked.id if isinstance(asked, ast.Name) else ""


def _binds(loop: ast.AST, name: str) -> bool:
    target = getattr(loop, "target", None)
    return target is not None and any(isinstance(node, ast.Name) and node.id == name for node in walk(target))


def collate_of(loader: Made) -> FunctionInfo | None:
    """The function of the project by which a loader puts its batches together, also one to which some arguments are
    given before."""
    value = loader.argument(*_COLLATE)
    made = value.object if value is not None else None
    if isinstance(made, Made) and made.path == "functools.partial" and made.args:
        made = made.args[0].object
    return made.info if isinstance(made, Function) else None


def _returned(function: FunctionInfo) -> Iterator[ast.expr]:
    if isinstance(function.node, ast.Lambda):
        yield function.node.body
        return
    for node in walk(function.node):
        if isinstance(node, ast.Return):
            yield node.value or ast.Constant(None)


def _may_be_none(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _may_be_none(value.body) or _may_be_none(value.orelse)
    return isinstance(value, ast.Constant) and value.value is None
