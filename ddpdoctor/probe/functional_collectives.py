"""Hooks on functional collectives, which DTensor and tensor parallelism use: they return tensors, and `wait_tensor`
blocks."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from . import calls, deferred_patches, groups
from . import page as layout
from .transparent_hooks import replace_in_torch
from .writer import CALL_KIND, Operation, PageWriter

ALL, FROM_ROOT = CALL_KIND["all"], CALL_KIND["from_root"]

#: functions of torch.distributed._functional_collectives -> the c10d operation they issue
NAMES = {
    "all_reduce": "all_reduce",
    "all_reduce_coalesced": "all_reduce_coalesced",
    "all_gather_single": "all_gather_into_tensor",
    "all_gather_tensor": "all_gather_into_tensor",
    "all_gather_single_autograd": "all_gather_into_tensor",
    "all_gather_tensor_autograd": "all_gather_into_tensor",
    "all_gather_into_tensor_coalesced": "all_gather_into_tensor_coalesced",
    "reduce_scatter_single": "reduce_scatter_tensor",
    "reduce_scatter_tensor": "reduce_scatter_tensor",
    "reduce_scatter_single_autograd": "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd": "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor_coalesced",
    "all_to_all_single": "all_to_all_single",
    "all_to_all_single_autograd": "all_to_all_single",
    "permute_tensor": "permute_tensor",
    "broadcast": "broadcast",
}


def install() -> None:
    deferred_patches.when_imported("torch.distributed._functional_collectives", _patch)


def _patch(functional: ModuleType) -> None:
    replaced = []
    for name, op in NAMES.items():
        function = getattr(functional, name, None)
        if function is not None:
            place = tuple(inspect.signature(function).parameters).index("group")
            replaced.append((function, calls.hook_around(function, _reader(op, place))))
    wait = functional.wait_tensor
    replaced.append((wait, calls.hook_around(wait, _read_wait, event=False)))
    replace_in_torch(replaced)


def _reader(op: str, group_at: int) -> calls.Read:
    def read(page: PageWriter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation | None:
        group = groups.find(page, _group(args[group_at] if group_at < len(args) else kwargs.get("group")))
        if group is None:
            return None
        numel, dtype = calls.tensor_size(page, args[0] if args else kwargs.get("self"))
        root = layout.NONE
        if op == "broadcast":
            source = args[1] if len(args) > 1 else kwargs.get("src")
            root = group.members[source] if isinstance(source, int) and source < len(group.members) else layout.NONE
        kind = FROM_ROOT if op == "broadcast" else ALL
        return Operation(kind, page.text(op), group.position, numel, dtype, root=root, flags=layout.ASYNCHRONOUS)

    return read


def _group(group: Any) -> Any:
    """The process group behind the group argument of these functions; NO_GROUP for a list of ranks, which may be
    several groups."""
    if isinstance(group, str):
        from torch.distributed import distributed_c10d

        return distributed_c10d._resolve_process_group(group)
    if isinstance(group, tuple) and len(group) == 2 and hasattr(group[0], "get_group"):
        return group[0].get_group(group[1])
    if hasattr(group, "get_group"):
        return group.get_group()
    return groups.NO_GROUP if group is None or isinstance(group, list) else group


def _read_wait(page: PageWriter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation:
    return calls.awaited_operation(page, args[0] if args else kwargs.get("tensor"))
