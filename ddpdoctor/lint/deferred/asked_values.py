"""Names that a setting must have for a line to run, and whether anything but such conditions mentions them. Pure.

`elif data == "cifar10": download()`: who starts the program as the repository shows it gives `data` another name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ddpdoctor.program import source
from ddpdoctor.program.enclosing import conditions_around
from ddpdoctor.program.nodes import last_name, parents, walk


def asked_at(tree: ast.AST, line: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(what is compared, the names of which it has to be one) for each such condition around a line."""
    for test in conditions_around(tree, line):
        for part in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else (test,):
            if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], (ast.Eq, ast.In)):
                asked, names = last_name(part.left), tuple(_names(part.comparators[0]))
                if asked and names and all(names):
                    yield asked, names


def _names(node: ast.expr) -> Iterator[str]:
    for one in node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else (node,):
        yield one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else ""


def word_of(name: str) -> re.Pattern[bytes]:
    """The name as a word of its own."""
    return re.compile(rb"(?<![\w-])" + re.escape(name.encode(errors="surrogatepass")) + rb"(?![\w-])")


def mentions(program: bytes, name: str) -> bool:
    """Whether a file has the name in a string, other than to compare something with it; so it may where it cannot be
    read."""
    word = word_of(name)
    if not word.search(program):
        return False
    tree = source.tree_of(program)
    if tree is None:
        return True
    nodes = list(walk(tree))
    above = parents(nodes)
    texts = ((node, node.value) for node in nodes if isinstance(node, ast.Constant))
    strings = ((node, text.encode(errors="surrogatepass")) for node, text in texts if isinstance(text, str))
    return any(word.search(text) and not _is_compared(node, above) for node, text in strings)


def _is_compared(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    around = above.get(node)
    if isinstance(around, (ast.Tuple, ast.List, ast.Set)):
        around = above.get(around)
    return isinstance(around, ast.Compare)
