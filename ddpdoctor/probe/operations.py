"""What each of c10d's Python functions waits for, and the positions of its arguments."""

from __future__ import annotations

from typing import NamedTuple


class Spec(NamedTuple):
    """How to read one function's arguments; names that this torch version does not have are ignored."""

    #: the value of a model Kind
    kind: str
    #: canonical name, the same for a function's old and new names
    op: str
    #: the argument whose elements are counted: this rank's contribution
    tensors: str = ""
    #: the peer or root: name of the global rank argument, name of the group rank argument
    other: tuple[str, str] | None = None
    #: returns a handle whatever its arguments
    asynchronous: bool = False


_SRC = ("src", "group_src")
_DST = ("dst", "group_dst")

#: functions of torch.distributed.distributed_c10d. `batch_isend_irecv` is absent: it calls the isend and irecv that
#: the job put into its list, which are recorded one by one.
C10D = {
    "all_reduce": Spec("all", "all_reduce", "tensor"),
    "all_reduce_coalesced": Spec("all", "all_reduce_coalesced", "tensors"),
    "all_gather": Spec("all", "all_gather", "tensor"),
    "all_gather_coalesced": Spec("all", "all_gather_coalesced", "input_tensor_list"),
    "all_gather_single": Spec("all", "all_gather_into_tensor", "input_tensor"),
    "all_gather_into_tensor": Spec("all", "all_gather_into_tensor", "input_tensor"),
    "_all_gather_base": Spec("all", "all_gather_into_tensor", "input_tensor"),
    "reduce_scatter": Spec("all", "reduce_scatter", "input_list"),
    "reduce_scatter_single": Spec("all", "reduce_scatter_tensor", "input"),
    "reduce_scatter_tensor": Spec("all", "reduce_scatter_tensor", "input"),
    "_reduce_scatter_base": Spec("all", "reduce_scatter_tensor", "input"),
    "all_to_all": Spec("all", "all_to_all", "input_tensor_list"),
    "all_to_all_single": Spec("all", "all_to_all_single", "input"),
    "all_gather_object": Spec("all", "all_gather_object"),
    "barrier": Spec("all", "barrier"),
    "monitored_barrier": Spec("all", "monitored_barrier"),
    "new_group": Spec("all", "new_group"),
    "split_group": Spec("all", "split_group"),
    "broadcast": Spec("from_root", "broadcast", "tensor", _SRC),
    "broadcast_object_list": Spec("from_root", "broadcast_object_list", "", _SRC),
    "scatter": Spec("from_root", "scatter", "tensor", _SRC),
    "scatter_object_list": Spec("from_root", "scatter_object_list", "", _SRC),
    "reduce": Spec("to_root", "reduce", "tensor", _DST),
    "gather": Spec("to_root", "gather", "tensor", _DST),
    "gather_object": Spec("to_root", "gather_object", "", _DST),
    "send": Spec("send", "send", "tensor", _DST),
    "isend": Spec("send", "isend", "tensor", _DST, asynchronous=True),
    "send_object_list": Spec("send", "send_object_list", "", _DST),
    "recv": Spec("recv", "recv", "tensor", _SRC),
    "irecv": Spec("recv", "irecv", "tensor", _SRC, asynchronous=True),
    "recv_object_list": Spec("recv", "recv_object_list", "", _SRC),
}

#: methods of ProcessGroup that frameworks call themselves (Lightning, around what one rank prepares), and their
#: parameters
METHODS = {"monitored_barrier": ("group", "timeout", "wait_all_ranks")}

#: C++ functions that DDP calls through torch.distributed by name, and their parameters, which have no signature
NATIVE_NAMES = ("process_group", "tensors", "buffer_size", "authoritative_rank")
NATIVE = {
    "_broadcast_coalesced": Spec("from_root", "broadcast_coalesced", "tensors", ("", "authoritative_rank")),
    "_verify_params_across_processes": Spec("all", "verify_params", "tensors"),
}
