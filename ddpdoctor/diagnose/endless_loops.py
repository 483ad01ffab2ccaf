"""Loops that take a loader again when it ends, until as many steps are done as all ranks have agreed on."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import takewhile

from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.program import Program

_LOOPS = (ast.For, ast.AsyncFor)


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
