"""Runs a program for NCCL without a GPU: its tensors report a GPU as their device and reject CPU tensors.

A stand-in for placement alone. A tensor that is moved to a GPU becomes a `Placed`, which holds the values on the CPU
and reports the GPU as its device. What a GPU would refuse is refused: an operation on tensors of both kinds, a
collective on a tensor of the CPU, a CPU generator for a tensor of the GPU, `numpy()` of what was not copied back.
Collectives run for real, on gloo, between real processes. DDP, which looks into tensors from C++, is replaced by a
wrapper that looks where the parameters are and reduces nothing.

    torchrun --nproc-per-node 2 rehearsal.py PROGRAM
"""

from __future__ import annotations

import contextlib
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.parallel
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

GPU = torch.device("cuda", 0)
#: operations that take tensors of two devices: copies, and indices on the CPU for a tensor anywhere
_MOVES = frozenset({"_to_copy", "copy_"})
_INDEXED = frozenset({"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"})
_COLLECTIVES = frozenset(
    {"all_gather", "all_reduce", "batch_isend_irecv", "broadcast", "irecv", "isend", "recv", "reduce"}
)


class Placed(Tensor):  # type: ignore[misc]
    """A tensor on the GPU, as far as a program can tell."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Placed:
        made: Placed = Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, given = getattr(func, "__name__", ""), kwargs or {}
        if func == Tensor.device.__get__:
            return GPU
        if name == "numpy":
            raise TypeError("can't convert a tensor of cuda:0 to numpy")
        if name == "cpu" or (name == "to" and any(str(value) == "cpu" for value in (*args[1:], *given.values()))):
            return args[0].inner
        if name in ("tolist", "__format__", "__reduce_ex__"):
            return getattr(args[0].inner.detach(), name)(*args[1:])
        return super().__torch_function__(func, types, args, given)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class Rehearsal(TorchDispatchMode):  # type: ignore[misc]
    """Also sees operations that make tensors out of nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = func._schema.name.partition("::")[2]
    tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)]
    placed = [value for value in tensors if isinstance(value, Placed)]
    wanted = kwargs.get("device")
    to_gpu = bool(placed) or (wanted is not None and torch.device(wanted).type == "cuda")
    _refuse(func, name, args, kwargs, to_gpu)
    if wanted is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    given = {id(value.inner): value for value in placed}
    made = func(*tree_map(_inner, args), **tree_map(_inner, kwargs))
    if name == "copy_":
        return args[0]
    return tree_map(lambda value: _outer(value, given, to_gpu), made)


def _refuse(func: Any, name: str, args: Any, kwargs: dict[str, Any], to_gpu: bool) -> None:
    """Raises RuntimeError for what a GPU would not do."""
    tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)]
    on_cpu = [value for value in tensors if not isinstance(value, Placed)]
    if func.namespace == "c10d":
        if on_cpu and name != "barrier" and _asked_by_the_program():
            raise RuntimeError(f"{func}: a collective on NCCL with a tensor of the CPU")
    elif to_gpu and "device" in kwargs:
        if kwargs.get("generator") is not None:
            raise RuntimeError(f"{func}: a CPU generator for a tensor of the GPU")
    elif to_gpu and name not in _MOVES and any(value.dim() > 0 for value in on_cpu):
        if name in _INDEXED and isinstance(args[0], Placed):
            return
        raise RuntimeError(f"{func}: tensors of both devices")


def _asked_by_the_program() -> bool:
    """A collective of tensors that the program called itself; those of Python objects find their device."""
    names = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.endswith("distributed_c10d.py"):
            names.append(frame.f_code.co_name)
        frame = frame.f_back
    return bool(_COLLECTIVES & set(names)) and not any("object" in name for name in names)


def _inner(value: object) -> object:
    return value.inner if isinstance(value, Placed) else value


def _outer(value: object, given: dict[int, Placed], to_gpu: bool) -> object:
    if not isinstance(value, Tensor) or isinstance(value, Placed):
        return value
    known = given.get(id(value))
    if known is not None:
        return known
    return Placed(value) if to_gpu else value


class Alone(nn.Module):  # type: ignore[misc]
    """DistributedDataParallel as far as it is about devices."""

    def __init__(self, module: nn.Module, **_: object) -> None:
        super().__init__()
        if not all(isinstance(parameter, Placed) for parameter in module.parameters()):
            raise RuntimeError("a model of the CPU under DDP on NCCL")
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        yield


def _pretend() -> None:
    """A GPU, and NCCL on it."""
    make, init = torch.tensor, dist.init_process_group

    def tensor(data: Any, *, device: Any = None, **options: Any) -> Tensor:
        made = make(data, **options)
        return made if device is None else made.to(device)

    def init_process_group(backend: str, **options: Any) -> None:
        if backend != "nccl":
            raise RuntimeError(f"the program was told nccl and takes {backend}")
        options.pop("device_id", None)
        init("gloo", **options)

    changed: dict[Any, dict[str, Any]] = {
        torch: {"tensor": tensor, "compile": lambda model, **_: model},
        torch.cuda: {"_lazy_init": lambda: None, "device_count": lambda: 1, "set_device": lambda _: None},
        torch.nn.parallel: {"DistributedDataParallel": Alone},
        dist: {"init_process_group": init_process_group},
    }
    for module, values in changed.items():
        for name, value in values.items():
            setattr(module, name, value)
    torch.__future__.set_swap_module_params_on_conversion(True)


def main() -> None:
    program = sys.argv[1]
    sys.argv = [program, "--backend", "nccl"]
    sys.path[0] = str(Path(program).parent)
    _pretend()
    with Rehearsal():
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
