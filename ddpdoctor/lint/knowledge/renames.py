"""Renamed functions of torch.distributed, with the version that deprecated the old name; modules that are gone.

Read from the `deprecated` markers and warnings of torch 1.13 to 2.13.
"""

from __future__ import annotations

import ast

from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import names_in, walk


class Rename(NamedTuple):
    """An old name and its replacement `new`. `same`: only the last part changes, and the arguments stay."""

    since: tuple[int, int]
    new: str
    same: bool = False


_D = "torch.distributed."
_F = "torch.distributed._functional_collectives."

#: oldest rename first; the last one not newer than the installed version applies
RENAMED: dict[str, tuple[Rename, ...]] = {
    _D + "reduce_op": (Rename((1, 0), "torch.distributed.ReduceOp", same=True),),
    _D + "_all_gather_base": (
        Rename((1, 13), "torch.distributed.all_gather_into_tensor", same=True),
        Rename((2, 13), "torch.distributed.all_gather_single", same=True),
    ),
    _D + "_reduce_scatter_base": (
        Rename((1, 13), "torch.distributed.reduce_scatter_tensor", same=True),
        Rename((2, 13), "torch.distributed.reduce_scatter_single", same=True),
    ),
    _D + "all_gather_into_tensor": (Rename((2, 13), "torch.distributed.all_gather_single", same=True),),
    _D + "reduce_scatter_tensor": (Rename((2, 13), "torch.distributed.reduce_scatter_single", same=True),),
    _D + "all_reduce_coalesced": (Rename((2, 0), "torch.distributed.all_reduce of each tensor"),),
    _D + "all_gather_coalesced": (Rename((2, 0), "torch.distributed.all_gather of each tensor"),),
    _D + "_get_global_rank": (Rename((2, 0), "torch.distributed.get_global_rank"),),
    _D + "_tensor": (Rename((2, 5), "torch.distributed.tensor"),),
    _D + "_composable.fsdp": (Rename((2, 6), "torch.distributed.fsdp"),),
    _D + "pipeline.sync.Pipe": (Rename((2, 4), "torch.distributed.pipelining"),),
    _D + "checkpoint.save_state_dict": (Rename((2, 2), "torch.distributed.checkpoint.save"),),
    _D + "checkpoint.load_state_dict": (Rename((2, 2), "torch.distributed.checkpoint.load"),),
    _F + "all_gather_tensor": (Rename((2, 13), _F + "all_gather_single", same=True),),
    _F + "all_gather_tensor_autograd": (Rename((2, 13), _F + "all_gather_single_autograd", same=True),),
    _F + "reduce_scatter_tensor": (Rename((2, 13), _F + "reduce_scatter_single", same=True),),
    _F + "reduce_scatter_tensor_autograd": (Rename((2, 13), _F + "reduce_scatter_single_autograd", same=True),),
    **{
        f"{_D}nn.{name}": (Rename((2, 13), _F + new),)
        for name, new in (
            ("broadcast", "broadcast"),
            ("all_reduce", "all_reduce"),
            ("all_gather", "all_gather_single"),
            ("reduce_scatter", "reduce_scatter_single"),
            ("all_to_all_single", "all_to_all_single"),
        )
    },
}


#: modules that torch and torchvision no longer have since torch 2.0 (torchvision's since torch 1.10)
GONE = ("torch._six", "torchvision.models.utils")


def renamed(path: str, version: tuple[int, ...]) -> Rename | None:
    """The replacement of a name in a version of torch; None if the name is still the one to use."""
    known = [r for r in RENAMED.get(path, ()) if version >= r.since]
    return known[-1] if known else None


def asks_version(node: ast.AST) -> bool:
    """Whether the statement distinguishes versions of torch (except, hasattr, a version test): both names
    may be in it.
    """
    if isinstance(node, ast.Try):
        return any(_catches_absence(handler) for handler in node.handlers)
    if isinstance(node, (ast.If, ast.IfExp)):
        words = names_in(node.test)
        words |= {n.attr for n in walk(node.test) if isinstance(n, ast.Attribute)}
        return any("version" in w.lower() or w in ("hasattr", "parse") or "torch_" in w.lower() for w in words)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")


def _catches_absence(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = names_in(handler.type)
    return bool(names & {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})
