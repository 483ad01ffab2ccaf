"""Which modules a file uses without an import, so that reading them ends in an error. Pure.

Of other names that nothing defines nothing is said: a file that has such may be a sketch or a part of one.
"""

from __future__ import annotations

import ast

from ddpdoctor.program import libraries
from ddpdoctor.program.bindings import bound_by
from ddpdoctor.program.nodes import walk

#: modules by the names under which programs use them
_MODULES = libraries.STANDARD_LIBRARY | libraries.KNOWN | {"sys", "time", "math", "gc", "dist", "nn", "np", "pd"}
#: what may define names that are not written
_HIDING = frozenset({"*", "globals", "locals", "exec", "eval", "builtins", "__builtins__"})


def forgotten_imports(tree: ast.Module) -> frozenset[str]:
    """The modules of which the attributes of a name are read in a file that nothing in it binds."""
    nodes = walk(tree)
    read = {node.value.id for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
    if read.isdisjoint(_MODULES):
        return frozenset()
    bound = {name for node in nodes for name in bound_by(node)}
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return frozenset((read & _MODULES) - bound) if _HIDING.isdisjoint(bound | used) else frozenset()
