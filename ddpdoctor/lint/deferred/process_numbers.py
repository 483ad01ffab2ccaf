"""The options by which a program is told how many processes it starts. Pure.

`launch(main, args.num_gpus)`, where `launch` spawns as many processes as its second argument says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program import source
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.options import by_dest

#: a command gives an option a number of several
_SEVERAL = late_pattern(rb"(?<!\S)--?([A-Za-z][\w-]*)[= ]+[\"']?(?:[2-9]|[1-9]\d+)(?![\w.,:-])")
#: where among its arguments a function is given the number, or what that is made of
_At = tuple[int, str]
_STARTING: Mapping[str, Sequence[_At]] = {path.rpartition(".")[2]: [at] for path, at in frameworks.NUMBERED.items()}
_MAY_START = late_pattern(rf"\b(?:{'|'.join(_STARTING)})\(".encode())


class ProcessNumbers:
    """Of the programs among some files, each file parsed once."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        """`texts`: what the files contain, by their paths."""
        self._texts = texts
        self._known: dict[str, frozenset[str]] = {}

    def tell_several(self, program: str, command: bytes) -> bool:
        """Whether a command tells a program to start several processes."""
        given = {name.decode().replace("-", "_") for name in _SEVERAL.findall(command)}
        return bool(given) and not given.isdisjoint(self._of(program))

    def _of(self, program: str) -> frozenset[str]:
        """What a program makes such numbers of: its variables, and its settings by their names and flags."""
        if program not in self._known:
            tree = source.tree_of(self._texts.get(program, b""))
            names = frozenset(_counting(tree, self._starting) if tree is not None else ())
            calls = (node for node in walk(tree) if isinstance(node, ast.Call)) if tree is not None and names else ()
            declared = (one for dest, given in by_dest(calls).items() if dest in names for one in given)
            self._known[program] = names.union(*(option.names for option in declared))
        return self._known[program]

    @cached_property
    def _starting(self) -> Mapping[str, Sequence[_At]]:
        """The functions that start as many processes as they are told, by their names; the project's own before those
        of libraries."""
        trees = map(source.tree_of, filter(_MAY_START.search, self._texts.values()))
        nodes = (node for tree in trees if tree is not None for node in walk(tree))
        return {**_STARTING, **{n.name: _numbers_of(n) for n in nodes if isinstance(n, ast.FunctionDef)}}


def _numbers_of(function: ast.FunctionDef) -> Sequence[_At]:
    """The parameters of which it makes the number of processes that it starts."""
    counting = set(_counting(function, _STARTING))
    parameters = (*function.args.posonlyargs, *function.args.args)
    return [(index, one.arg) for index, one in enumerate(parameters) if one.arg in counting]


def _counting(tree: ast.AST, starting: Mapping[str, Sequence[_At]]) -> Iterator[str]:
    """What the numbers are made of that these functions are given in a program or a function."""
    nodes = walk(tree)
    assigned: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                assigned.setdefault(last_name(target), []).append(node.value)
    for call in nodes:
        if isinstance(call, ast.Call):
            for at in starting.get(last_name(call.func), ()):
                yield from _made_of(_arguments(call, at), assigned)


def _arguments(call: ast.Call, at: _At) -> list[ast.expr]:
    index, name = at
    return call.args[index : index + 1] or [keyword.value for keyword in call.keywords if keyword.arg == name]


def _made_of(left: list[ast.expr], assigned: Mapping[str, list[ast.expr]]) -> set[str]:
    """The variables and attributes of which something is made; not of the length of something, whose elements may be
    numbers, too."""
    found = set[str]()
    while left:
        nodes = walk(left.pop())
        if any(isinstance(node, ast.Call) and last_name(node.func) == "len" for node in nodes):
            continue
        names = {last_name(node) for node in nodes if isinstance(node, (ast.Name, ast.Attribute))} - found
        found |= names
        left += [value for name in sorted(names) for value in assigned.get(name, ())]
    return found
