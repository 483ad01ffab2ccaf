"""What a method computes of the data that it is given, as far as the names in it show: which variables hold numbers
that the data decides, and which are as long as it decides."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import last_name, names_in, walk

#: numbers of what is in a tensor
_MEASURING = frozenset({
    "any", "all", "sum", "item", "max", "min", "mean", "count_nonzero", "bincount", "histc", "tolist", "norm", "isnan",
})  # fmt: skip
#: the sizes of a tensor or list
_SIZES = frozenset({"numel", "nelement", "len", "size", "shape"})
#: attributes and methods of a tensor that are the same for batches of the same size
_OF_SHAPE = frozenset({"shape", "size", "dim", "ndim", "device", "dtype", "numel", "nelement", "requires_grad", "len"})
#: pick out as many elements as the data decides
_PICKING = vocabulary.PICKING | {name.rpartition(".")[2] for name in vocabulary.PICKING_CALLS} | {"unique", "argwhere"}


@record(eq=False, slots=True)
class DataFlow:
    """The variables of one method that hold data, or what is computed of it."""

    data: set[str]
    #: hold what the data decides: a count, a flag, a maximum
    measured: set[str] = field(default_factory=set)
    #: are as long as the data decides
    uneven: set[str] = field(default_factory=set)
    #: tell of each element whether it is chosen
    masks: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, method: FunctionInfo) -> DataFlow:
        """What follows from the parameters of a method, `self` aside."""
        flow = cls({p.arg for p in (*method.parameters[1:], *method.node.args.kwonlyargs)})
        nodes = sorted(_binding(method.node), key=lambda pair: pair[1].lineno)
        # what a loop's body assigns its next turn reads
        for target, value in (*nodes, *nodes):
            flow._bind(target, value)
        return flow

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        names = names_in(target)
        if self._uses(value, self.data):
            self.data |= names
        if self._masks(value):
            self.masks |= names
        if self.picks(value):
            self.uneven |= names
        elif self.measures(value):
            self.measured |= names

    def measures(self, node: ast.expr) -> bool:
        """Whether it asks what is in the data, or how much was picked out of it."""
        for part in _asked(node):
            if isinstance(part, ast.Name) and part.id in self.measured:
                return True
            if isinstance(part, ast.Call) and last_name(part.func) in _MEASURING and self._uses(part, self.data):
                return True
            sized = last_name(part.func) if isinstance(part, ast.Call) else last_name(part)
            if sized in _SIZES and any(isinstance(n, ast.Name) and n.id in self.uneven for n in walk(part)):
                return True
        return False

    def picks(self, node: ast.expr) -> bool:
        """Whether it is as long as the data decides."""
        for part in walk(node):
            if isinstance(part, ast.Call) and last_name(part.func) in _PICKING:
                alone = last_name(part.func) != "where" or len(part.args) == 1
                if alone and self._uses(part, self.data):
                    return True
            if isinstance(part, ast.Subscript) and self._masks(part.slice):
                return True
        inner = node
        while isinstance(inner, (ast.Subscript, ast.Attribute)):
            inner = inner.value
        return isinstance(inner, ast.Name) and inner.id in self.uneven

    def _masks(self, node: ast.expr) -> bool:
        """Whether it is a comparison with data, or a variable that holds one."""
        if isinstance(node, ast.Name):
            return node.id in self.masks
        return isinstance(node, ast.Compare) and self._uses(node, self.data)

    def _uses(self, node: ast.expr, names: set[str]) -> bool:
        return any(isinstance(part, ast.Name) and part.id in names for part in _valued(node))


def _binding(scope: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned, and what loops go through."""
    for node in walk(scope):
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
            yield node.target, node.value or node.target
        elif isinstance(node, (ast.For, ast.comprehension)):
            yield node.target, node.iter


def _asked(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of a condition, without what asks only whether something is None."""
    if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _asked(child)


def _valued(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of an expression that its value depends on, without those of which only the shape is read."""
    if isinstance(node, ast.Attribute) and node.attr in _OF_SHAPE:
        return
    if isinstance(node, ast.Call) and last_name(node.func) in _OF_SHAPE:
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _valued(child)
