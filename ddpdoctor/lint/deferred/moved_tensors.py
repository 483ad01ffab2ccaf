"""What callers pass to a function that hands its parameter to a collective on the GPU: tensors of the CPU. Pure.

`all_reduce(x.cuda())` changes `x` itself where it is on the GPU, and only a copy where it is not.
"""

from __future__ import annotations

import ast

from ddpdoctor.lint.deferred.callers import Callers
from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.program.nodes import last_name, walk

#: classes of tensors on the CPU, as old programs write them
_CPU_CLASSES = frozenset({"FloatTensor", "DoubleTensor", "HalfTensor", "LongTensor", "IntTensor"})
#: functions of torch whose result is on the CPU unless a device is named
_MAKERS = frozenset({"zeros", "ones", "full", "arange", "from_numpy"})


def passed_from_cpu(callers: Callers, path: str, tree: ast.AST, line: int) -> Place | None:
    """Where a tensor of the CPU is passed to a function that moves it to the GPU in the collective at a line."""
    for call in walk(tree):
        if not isinstance(call, ast.Call) or call.lineno != line or not call.args:
            continue
        moved = call.args[0]
        if isinstance(moved, ast.Call) and last_name(moved.func) == "cuda" and isinstance(moved.func, ast.Attribute):
            owner = moved.func.value
            given = callers.given(path, line, owner.id) if isinstance(owner, ast.Name) else ()
            return next((Place(file, value.lineno) for file, value in given if _on_cpu(value)), None)
    return None


def _on_cpu(value: ast.expr) -> bool:
    """Whether the expression makes a tensor on the CPU, whatever is in it: `torch.tensor([x])`."""
    if not isinstance(value, ast.Call) or any(keyword.arg == "device" for keyword in value.keywords):
        return False
    if not isinstance(value.func, ast.Attribute) or last_name(value.func.value) != "torch":
        return False
    listed = value.func.attr == "tensor" and bool(value.args) and isinstance(value.args[0], (ast.List, ast.Constant))
    return listed or value.func.attr in _CPU_CLASSES | _MAKERS
