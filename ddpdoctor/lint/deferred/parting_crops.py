"""Whether what a line draws comes behind crops that soon part ranks which begin alike. Pure."""

from __future__ import annotations

import ast

from ddpdoctor.lint.knowledge import heuristics, randomness
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk

_CROPS = frozenset(path.rpartition(".")[2] for path in randomness.DRAWN_UNTIL_FITTING)
#: data sets of pictures whose sizes differ, as far as anybody knows
_OF_ANY_SIZE = frozenset({"ImageFolder", "ImageNet"})


def is_parted(tree: ast.Module, line: int) -> bool:
    """Whether a line is in a list of transforms with a crop of random size, which is drawn until it fits the picture,
    in a function that makes a data set of pictures of any size, and none of pictures of one size."""
    function = innermost_function(tree, line)
    nodes = walk(function) if function is not None else []
    names = {last_name(node) for node in nodes if isinstance(node, (ast.Name, ast.Attribute))}
    if _OF_ANY_SIZE.isdisjoint(names) or any(heuristics.ONE_SIZE.found_in(name.lower()) for name in names):
        return False
    lists = (node for node in nodes if isinstance(node, (ast.List, ast.Tuple)))
    return any(one.lineno <= line <= (one.end_lineno or line) and _crops(one) for one in lists)


def _crops(transforms: ast.List | ast.Tuple) -> bool:
    """Whether a crop of random size is among transforms, and nothing before it gives all pictures one size."""
    for one in transforms.elts:
        name = last_name(one.func) if isinstance(one, ast.Call) else ""
        if name in _CROPS or name == "Resize":
            return name in _CROPS
    return False
