"""The functions of torch.distributed: their parameters, what each communicates, and since when they are there.

One row per function, for lint, the diagnosis and the probe. The probe runs where ddpdoctor may not be installed and has
a copy of the columns that it needs; a test compares the two. Names and parameters are those of torch 2.13, read with
`inspect.signature`; a test compares them with the torch that is installed. A version is the first in which a name
surely exists or a keyword is accepted; where that is not certain, the earliest version that is possible.
"""

from __future__ import annotations

from collections.abc import Mapping

from ddpdoctor.model.kinds import COLLECTIVE, Kind
from ddpdoctor.model.named_tuple import NamedTuple

Version = tuple[int, int]
#: the version that the rows describe
NEWEST: Version = (2, 13)


class Function(NamedTuple):
    """One function of torch.distributed, public or once public under this name."""

    name: str
    #: in the order of positional arguments
    parameters: tuple[str, ...]
    #: whom a call waits for; None where it communicates nothing itself, or only through other functions of the table
    kind: Kind | None
    #: canonical name of the operation, one for all names that a function has had
    op: str
    #: the operation that it is to a reader of source: `new_group` for all that make groups
    counts_as: str
    #: parameter that holds what this rank contributes, "" where nothing is counted
    gives: str
    #: parameter whose tensors or objects are equal on all ranks afterwards, "" for none
    overwrites: str
    #: what ranks contribute must have one size
    equal_sizes: bool
    #: returns before the operation has ended, whatever its arguments
    asynchronous: bool
    since: Version
    #: keywords that came later than the function
    added: Mapping[str, Version]

    @property
    def collective(self) -> bool:
        """Every member of a group has to call it."""
        return self.kind in COLLECTIVE

    @property
    def pairwise(self) -> bool:
        """A message from one rank to another."""
        return self.kind in (Kind.SEND, Kind.RECV)

    @property
    def makes_groups(self) -> bool:
        return self.counts_as == "new_group"

    def position(self, parameter: str) -> int:
        """Of a parameter among the positional arguments; -1 where the function does not have it."""
        return self.parameters.index(parameter) if parameter in self.parameters else -1


def _function(
    name: str,
    parameters: str,
    kind: Kind | None = None,
    *,
    op: str = "",
    counts_as: str = "",
    gives: str = "",
    overwrites: str = "",
    equal_sizes: bool = False,
    asynchronous: bool = False,
    since: Version = (0, 0),
    added: Mapping[str, Version] | None = None,
) -> Function:
    op = op or name
    return Function(
        name, tuple(parameters.split()), kind, op, counts_as or (op if kind else ""), gives, overwrites, equal_sizes,
        asynchronous, since, added or {},
    )  # fmt: skip


_ROWS = (
    _function("all_gather", "tensor_list tensor group async_op",
              Kind.ALL, gives="tensor", overwrites="tensor_list", equal_sizes=True),
    _function("_all_gather_base", "output_tensor input_tensor group async_op",
              Kind.ALL, op="all_gather_into_tensor", gives="input_tensor", overwrites="output_tensor",
              equal_sizes=True),
    _function("all_gather_coalesced", "output_tensor_lists input_tensor_list group async_op",
              Kind.ALL, gives="input_tensor_list", counts_as="all_gather", overwrites="output_tensor_lists"),
    _function("all_gather_into_tensor", "output_tensor input_tensor group async_op",
              Kind.ALL, gives="input_tensor", overwrites="output_tensor", equal_sizes=True, since=(1, 13)),
    _function("all_gather_object", "object_list obj group", Kind.ALL, overwrites="object_list"),
    _function("all_gather_single", "output_tensor input_tensor group async_op",
              Kind.ALL, op="all_gather_into_tensor", gives="input_tensor", overwrites="output_tensor",
              equal_sizes=True, since=(2, 11)),
    _function("all_reduce", "tensor op group async_op",
              Kind.ALL, gives="tensor", overwrites="tensor", equal_sizes=True),
    _function("all_reduce_coalesced", "tensors op group async_op",
              Kind.ALL, gives="tensors", counts_as="all_reduce", overwrites="tensors"),
    _function("all_to_all", "output_tensor_list input_tensor_list group async_op",
              Kind.ALL, gives="input_tensor_list"),
    _function("all_to_all_single", "output input output_split_sizes input_split_sizes group async_op",
              Kind.ALL, gives="input"),
    _function("barrier", "group async_op device_ids timeout",
              Kind.ALL, added={"timeout": (2, 9), "device_ids": (1, 8)}),
    _function("batch_isend_irecv", "p2p_op_list", since=(1, 7)),
    _function("breakpoint", "rank skip timeout_s", counts_as="barrier", since=(2, 0)),
    _function("broadcast", "tensor src group async_op group_src",
              Kind.FROM_ROOT, gives="tensor", overwrites="tensor", equal_sizes=True, added={"group_src": (2, 6)}),
    _function("broadcast_object_list", "object_list src group device group_src",
              Kind.FROM_ROOT, overwrites="object_list", added={"group_src": (2, 6)}),
    _function("destroy_process_group", "group"),
    _function("gather", "tensor gather_list dst group async_op group_dst",
              Kind.TO_ROOT, gives="tensor", added={"group_dst": (2, 6)}),
    _function("gather_object", "obj object_gather_list dst group group_dst",
              Kind.TO_ROOT, added={"group_dst": (2, 6)}),
    _function("get_backend", "group"),
    _function("get_backend_config", "group"),
    _function("get_default_backend_for_device", "device"),
    _function("get_global_rank", "group group_rank"),
    _function("get_group_rank", "group global_rank"),
    _function("get_node_local_rank", "fallback_rank", since=(2, 3)),
    _function("get_pg_count", ""),
    _function("get_process_group_ranks", "group", since=(1, 13)),
    _function("get_rank", "group"),
    _function("get_world_size", "group"),
    _function("init_device_mesh", "device_type mesh_shape mesh_dim_names backend_override", since=(2, 2)),
    _function("init_process_group", "backend init_method timeout world_size rank store group_name pg_options device_id",
              counts_as="init_process_group", added={"device_id": (2, 3), "pg_options": (1, 8)}),
    _function("irecv", "tensor src group tag group_src",
              Kind.RECV, gives="tensor", asynchronous=True, added={"group_src": (2, 6)}),
    _function("is_available", ""),
    _function("is_backend_available", "backend"),
    _function("is_gloo_available", ""),
    _function("is_initialized", ""),
    _function("is_mpi_available", ""),
    _function("is_nccl_available", ""),
    _function("is_torchelastic_launched", "", since=(1, 9)),
    _function("is_ucc_available", ""),
    _function("is_xccl_available", ""),
    _function("isend", "tensor dst group tag group_dst",
              Kind.SEND, gives="tensor", asynchronous=True, added={"group_dst": (2, 6)}),
    _function("monitored_barrier", "group timeout wait_all_ranks", Kind.ALL, counts_as="barrier", since=(1, 8)),
    _function("new_group", "ranks timeout backend pg_options use_local_synchronization group_desc device_id sort_ranks",
              Kind.ALL, added={"use_local_synchronization": (2, 1), "device_id": (2, 5), "group_desc": (2, 3),
                               "sort_ranks": (2, 9)}),
    _function("new_subgroups", "group_size group timeout backend pg_options group_desc", counts_as="new_group"),
    _function("new_subgroups_by_enumeration", "ranks_per_subgroup_list timeout backend pg_options group_desc",
              counts_as="new_group"),
    _function("recv", "tensor src group tag group_src", Kind.RECV, gives="tensor", added={"group_src": (2, 6)}),
    _function("recv_object_list", "object_list src group device group_src use_batch",
              Kind.RECV, counts_as="recv", since=(2, 2)),
    _function("reduce", "tensor dst op group async_op group_dst",
              Kind.TO_ROOT, gives="tensor", equal_sizes=True, added={"group_dst": (2, 6)}),
    _function("reduce_scatter", "output input_list op group async_op",
              Kind.ALL, gives="input_list", equal_sizes=True),
    _function("_reduce_scatter_base", "output input op group async_op",
              Kind.ALL, op="reduce_scatter_tensor", gives="input", equal_sizes=True),
    _function("reduce_scatter_single", "output input op group async_op",
              Kind.ALL, op="reduce_scatter_tensor", gives="input", equal_sizes=True, since=(2, 11)),
    _function("reduce_scatter_tensor", "output input op group async_op",
              Kind.ALL, gives="input", equal_sizes=True, since=(1, 13)),
    _function("scatter", "tensor scatter_list src group async_op group_src",
              Kind.FROM_ROOT, gives="tensor", added={"group_src": (2, 6)}),
    _function("scatter_object_list", "scatter_object_output_list scatter_object_input_list src group group_src",
              Kind.FROM_ROOT, since=(1, 8), added={"group_src": (2, 6)}),
    _function("send", "tensor dst group tag group_dst", Kind.SEND, gives="tensor", added={"group_dst": (2, 6)}),
    _function("send_object_list", "object_list dst group device group_dst use_batch",
              Kind.SEND, counts_as="send", since=(2, 2)),
    _function("shrink_group", "ranks_to_exclude group shrink_flags pg_options", counts_as="new_group"),
    _function("split_group", "parent_pg split_ranks timeout pg_options group_desc backend",
              Kind.ALL, counts_as="new_group", since=(2, 4)),
)  # fmt: skip
#: by name; what begins with `_` has a public name now
FUNCTIONS: Mapping[str, Function] = {row.name: row for row in _ROWS}


class Functional(NamedTuple):
    """One function of torch.distributed._functional_collectives."""

    #: canonical name of the c10d operation that it issues
    op: str
    #: position of the group argument
    group: int
    #: the operation that it is to a reader of source
    counts_as: str


def _functional(op: str, group: int, *names: str, counts_as: str = "") -> dict[str, Functional]:
    return dict.fromkeys(names, Functional(op, group, counts_as or op))


#: functional collectives by name; old and new names of one function stand together
FUNCTIONAL: Mapping[str, Functional] = {
    **_functional("all_reduce", 2, "all_reduce"),
    **_functional("all_reduce_coalesced", 2, "all_reduce_coalesced", counts_as="all_reduce"),
    **_functional(
        "all_gather_into_tensor", 2,
        "all_gather_tensor", "all_gather_single", "all_gather_tensor_autograd", "all_gather_single_autograd",
    ),
    **_functional(
        "all_gather_into_tensor_coalesced", 1, "all_gather_into_tensor_coalesced", "all_gather_single_coalesced",
        counts_as="all_gather_into_tensor",
    ),
    **_functional(
        "reduce_scatter_tensor", 3,
        "reduce_scatter_tensor", "reduce_scatter_single", "reduce_scatter_tensor_autograd",
        "reduce_scatter_single_autograd",
    ),
    **_functional(
        "reduce_scatter_tensor_coalesced", 3, "reduce_scatter_tensor_coalesced", "reduce_scatter_single_coalesced",
        counts_as="reduce_scatter_tensor",
    ),
    **_functional("all_to_all_single", 3, "all_to_all_single", "all_to_all_single_autograd"),
    **_functional("permute_tensor", 2, "permute_tensor"),
    **_functional("broadcast", 2, "broadcast"),
}  # fmt: skip
