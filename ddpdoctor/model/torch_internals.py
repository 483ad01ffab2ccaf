"""Names inside torch that nobody promises to keep: private functions, files, words of messages.

Stacks and tracebacks show torch as it is, so a diagnosis has to know some of its private names. All that are compared
with evidence stand here, each with the file that has it and the versions it was seen in; a test looks up every row in
the torch that is installed. A row of an earlier torch stays for as long as jobs with that torch are diagnosed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

#: the torch that the rows without a last version were looked up in
LOOKED_UP_IN = "2.13"


class Meaning(Enum):
    """What it says of a thread that one of its frames shows the name."""

    #: blocks in C++ on collectives that no Python function issues
    WAITS_UNSEEN = "waits for a collective that C++ issued"
    #: runs the backward pass
    RUNS_BACKWARD = "runs the backward pass"
    #: belongs to torch.distributed and computes rather than waits
    COMPUTES = "computes"
    #: the way from a Python operator down to C++
    DISPATCHES = "passes a call on"
    #: waits for what a functional collective returned
    WAITS_FOR_TENSOR = "waits for the result of a collective"
    #: meets the other ranks for the first time
    MAKES_STORE = "makes the store of the rendezvous"
    #: the data loader of this process, and what its workers run
    LOADS = "fetches batches"
    WORKS_FOR_LOADER = "is a worker of a data loader"
    FETCHES = "asks a dataset for samples"
    ENDS_WORKERS = "waits for the workers of a data loader to end"
    #: collects the parts of a sharded model or optimizer on all ranks
    GATHERS_STATE = "gathers a sharded state"
    #: splits a model over ranks, and gathers its parameters when a module runs
    SHARDS = "shards a model"
    #: replays the collectives of a rank that has data left
    JOINS = "is torch's Join"
    #: traces, lowers or builds code
    COMPILES = "compiles"
    #: writes files that tensors are stored in
    SAVES = "writes tensors to a file"
    #: destroys communicators; NCCL's wait for the other ranks of the node
    DESTROYS = "destroys a process group"
    #: waits for a lock file
    LOCKS = "waits for a lock file"


@dataclass(frozen=True, slots=True)
class Internal:
    """One private name of torch."""

    meaning: Meaning
    #: the file below `torch/`, or the folder with a slash at its end
    file: str
    #: the function; "" where the file alone counts
    name: str = ""
    #: the first torch that had it, where that is known, and the last; "" for "still there in `LOOKED_UP_IN`"
    first: str = ""
    last: str = ""


def _each(meaning: Meaning, file: str, *names: str, first: str = "", last: str = "") -> tuple[Internal, ...]:
    return tuple(Internal(meaning, file, name, first, last) for name in names)


_DDP = "nn/parallel/distributed.py"
_FSDP = "distributed/fsdp/fully_sharded_data_parallel.py"
_STATE_DICT = "distributed/checkpoint/state_dict.py"
_DATALOADER = "utils/data/dataloader.py"

ROWS: tuple[Internal, ...] = (
    *_each(Meaning.RUNS_BACKWARD, "autograd/graph.py", "_engine_run_backward", first="2.3"),
    *_each(Meaning.RUNS_BACKWARD, "autograd/__init__.py", "backward"),
    *_each(Meaning.WAITS_UNSEEN, "autograd/graph.py", "_engine_run_backward", first="2.3"),
    *_each(Meaning.WAITS_UNSEEN, _DDP, "_pre_forward", first="2.0"),
    *_each(Meaning.WAITS_UNSEEN, _DDP, "_sync_buffers", "_sync_module_buffers", "_default_broadcast_coalesced"),
    *_each(Meaning.WAITS_UNSEEN, _DDP, "_distributed_broadcast_coalesced", "_ddp_init_helper"),
    *_each(Meaning.WAITS_UNSEEN, _DDP, "_build_debug_param_to_name_mapping"),
    *_each(Meaning.WAITS_UNSEEN, "distributed/utils.py", "_sync_params_and_buffers", "_sync_module_states"),
    *_each(Meaning.WAITS_UNSEEN, "distributed/utils.py", "_verify_param_shape_across_processes"),
    *_each(Meaning.COMPUTES, "distributed/distributed_c10d.py", "_object_to_tensor", "_tensor_to_object"),
    Internal(Meaning.DISPATCHES, "_ops.py"),
    Internal(Meaning.DISPATCHES, "_library/autograd.py", first="2.4"),
    *_each(Meaning.WAITS_FOR_TENSOR, "distributed/_functional_collectives.py", "wait_tensor", first="2.0"),
    *_each(Meaning.MAKES_STORE, "distributed/rendezvous.py", "_create_c10d_store", "_tcp_rendezvous_handler"),
    *_each(Meaning.MAKES_STORE, "distributed/rendezvous.py", "_env_rendezvous_handler"),
    *_each(Meaning.MAKES_STORE, "distributed/elastic/rendezvous/c10d_rendezvous_backend.py", "_create_tcp_store"),
    Internal(Meaning.LOADS, _DATALOADER),
    Internal(Meaning.WORKS_FOR_LOADER, "utils/data/_utils/"),
    Internal(Meaning.FETCHES, "utils/data/_utils/fetch.py"),
    *_each(Meaning.ENDS_WORKERS, _DATALOADER, "_shutdown_workers"),
    *_each(Meaning.ENDS_WORKERS, _DATALOADER, "_clean_up_worker", "_shutdown_worker", last="2.12"),
    *_each(Meaning.GATHERS_STATE, _STATE_DICT, "get_model_state_dict", "get_optimizer_state_dict", first="2.2"),
    *_each(Meaning.GATHERS_STATE, _STATE_DICT, "get_state_dict", first="2.2"),
    *_each(Meaning.GATHERS_STATE, "distributed/tensor/_api.py", "full_tensor", first="2.2"),
    *_each(Meaning.GATHERS_STATE, _FSDP, "full_optim_state_dict", "optim_state_dict", "summon_full_params"),
    *_each(Meaning.GATHERS_STATE, _FSDP, "scatter_full_optim_state_dict"),
    *_each(Meaning.GATHERS_STATE, "distributed/optim/zero_redundancy_optimizer.py", "consolidate_state_dict"),
    Internal(Meaning.SHARDS, "distributed/fsdp/"),
    Internal(Meaning.SHARDS, "distributed/_composable/", first="2.0"),
    Internal(Meaning.JOINS, "distributed/algorithms/join.py"),
    Internal(Meaning.COMPILES, "_dynamo/convert_frame.py", first="2.0"),
    Internal(Meaning.COMPILES, "_dynamo/symbolic_convert.py", first="2.0"),
    Internal(Meaning.COMPILES, "_inductor/async_compile.py", first="2.4"),
    Internal(Meaning.COMPILES, "_inductor/cpp_builder.py", first="2.4"),
    Internal(Meaning.COMPILES, "_inductor/graph.py", first="2.0"),
    Internal(Meaning.COMPILES, "_inductor/lowering.py", first="2.0"),
    Internal(Meaning.COMPILES, "_inductor/scheduler.py", first="2.0"),
    Internal(Meaning.COMPILES, "_inductor/codegen/", first="2.0"),
    Internal(Meaning.COMPILES, "_subclasses/fake_tensor.py", first="2.0"),
    Internal(Meaning.COMPILES, "utils/cpp_extension.py"),
    Internal(Meaning.SAVES, "serialization.py"),
    Internal(Meaning.SAVES, "distributed/checkpoint/"),
    *_each(Meaning.DESTROYS, "distributed/distributed_c10d.py", "destroy_process_group"),
    Internal(Meaning.LOCKS, "utils/file_baton.py"),
)


@dataclass(frozen=True, slots=True)
class Message:
    """Words of an exception by which it is known."""

    #: the file below `torch/` that has them, a library of C++ or a module
    file: str
    #: a part that the file has as it is
    words: str
    #: what is looked for in the exception
    pattern: re.Pattern[str]

    def is_in(self, message: str) -> bool:
        return self.pattern.search(message) is not None


#: DistributedDataParallel's constructor, of a model that is not the same on all ranks
MODEL_DIFFERS = Message(
    "lib/libtorch_cpu.so",
    "DDP expects same model across all ranks",
    re.compile(r"DDP expects same model across all ranks|appears not to match (sizes|strides) of the same param"),
)
#: the same, of models with unequal numbers of parameters: this rank and its number, another rank and its number
MODEL_SIZES = Message(
    "lib/libtorch_cpu.so",
    " params, while rank ",
    re.compile(r"Rank (\d{1,9}) has (\d{1,18}) params, while rank (\d{1,9}) has inconsistent (\d{1,18}) params"),
)
#: a DataLoader, of a worker that is gone
LOST_WORKER = Message(
    "lib/libtorch_python.so",
    "DataLoader worker (pid",
    re.compile(r"DataLoader worker \(pid.*?(killed by signal|exited unexpectedly)", re.DOTALL),
)
#: monitored_barrier, on rank 0, of the ranks that did not come in time
NOT_PASSED = Message(
    "lib/libtorch_cpu.so",
    "failed to pass monitoredBarrier",
    re.compile(r"Ranks? (\d{1,7}(?:, ?\d{1,7})*) failed to pass monitoredBarrier"),
)
#: gloo, of operations of unequal size that meet: bytes that came, bytes that were expected
SIZES_DIFFER = Message(
    "lib/libtorch_cpu.so",
    "op.preamble.length <= op.nbytes",
    re.compile(r"op\.preamble\.length <= op\.nbytes\. (\d{1,18}) vs (\d{1,18})"),
)
#: an exception of another process or thread, raised once more with its traceback as text
RETOLD = Message(
    "_utils.py",
    "Caught {self.exc_type.__name__} {self.where}.\\nOriginal {self.exc_msg}",
    re.compile(r"\s*Caught (?P<type>[\w.]+) (?P<where>in [^\n]+?)\.?\nOriginal Traceback"),
)
MESSAGES = (MODEL_DIFFERS, MODEL_SIZES, LOST_WORKER, NOT_PASSED, SIZES_DIFFER, RETOLD)

_FUNCTIONS: dict[Meaning, frozenset[str]] = {
    meaning: frozenset(row.name for row in ROWS if row.meaning is meaning and row.name) for meaning in Meaning
}
_FILES: dict[Meaning, tuple[str, ...]] = {
    meaning: tuple(f"/torch/{row.file}" for row in ROWS if row.meaning is meaning) for meaning in Meaning
}


def functions(meaning: Meaning) -> frozenset[str]:
    """Names of functions with this meaning."""
    return _FUNCTIONS[meaning]


def is_in(file: str, meaning: Meaning) -> bool:
    """The path is that of a file with this meaning, or leads into a folder with it."""
    path = _slashes(file)
    return any(part in path if part.endswith("/") else path.endswith(part) for part in _FILES[meaning])


def shows(file: str, function: str, meaning: Meaning) -> bool:
    """A frame of this file and function, whose name may be qualified, has this meaning."""
    name = function.rpartition(".")[2]
    rows: Iterable[Internal] = (row for row in ROWS if row.meaning is meaning and row.name == name)
    return any(_slashes(file).endswith(f"/torch/{row.file}") for row in rows)


def _slashes(file: str) -> str:
    return "/" + file.replace("\\", "/")
