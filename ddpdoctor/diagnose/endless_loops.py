"""Loops that take a loader again when it ends, until as many steps are done as all ranks have agreed on."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import takewhile

from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program

_LOOPS = (ast.For, ast.AsyncFor)
#: what makes a context under which loops may end apart: torch, DistributedDataParallel, Accelerate
_JOINS = frozenset({"Join", "join", "join_uneven_inputs"})


def takes_again(code: Mapping[str, SourceFile], site: Site) -> bool:
    """Whether the data at a line may go round without an end of its own: it is taken by `next(...)` or by a generator,
    or the loop over it stands in a `while`. True also where the source of the line is not known."""
    program = Program(code)
    if program.module(site.file) is None:
        return True
    function = enclosing.function_around(program, site)
    if function is not None and any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in walk(function)):
        return True
    if enclosing.builtins_called(program, site, frozenset({"next", "iter"})):
        return True
    around = enclosing.around(program, site)
    loops = list(takewhile(lambda node: not isinstance(node, ast.While), around))
    return len(loops) < len(around) and not any(isinstance(node, _LOOPS) and node.lineno != site.line for node in loops)


def is_joined(code: Mapping[str, SourceFile], site: Site) -> bool:
    """Whether the line is in a `with` statement of torch's Join."""
    blocks = [node for node in enclosing.around(Program(code), site) if isinstance(node, ast.With)]
    made = [
        item.context_expr.func for block in blocks for item in block.items if isinstance(item.context_expr, ast.Call)
    ]
    return any(last_name(function) in _JOINS for function in made)
