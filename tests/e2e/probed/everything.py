"""A healthy job that goes through every hook, and whose output must be the same with and without the probe."""

import os
import pickle
import sys
import threading
import time
import warnings

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional_collectives
from torch.distributed import all_reduce
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


def train(rank: int) -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(torch.randn(12, 4), batch_size=2, num_workers=1)
    for number, batch in enumerate(loader):  # loader
        if number == 0:
            with model.no_sync():
                model(batch).sum().backward()
            continue
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    validation = DataLoader(torch.randn(4, 4), batch_size=2)
    iterator = iter(validation)  # validation
    next(iterator)


def train_sharded() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
    fully_shard(model[0])
    fully_shard(model)
    for _ in range(2):
        model(torch.ones(2, 4)).sum().backward()


def distribute() -> None:
    mesh = init_device_mesh("cpu", (2,))
    sharded = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])
    assert sharded.full_tensor().sum() == 16  # full tensor
    tripled = functional_collectives.all_reduce(torch.ones(6), "sum", mesh)  # functional
    assert (tripled + 1).sum() == 18


def megatron_backward() -> None:
    leaf = torch.ones(3, requires_grad=True)
    torch.autograd.Variable._execution_engine.run_backward(
        (leaf.sum(),), (torch.tensor(1.0),), False, False, (), allow_unreachable=True, accumulate_grad=True
    )
    torch.autograd.grad(leaf.sum(), leaf)


def talk(rank: int) -> None:
    tensor = torch.ones(3)
    other = 1 - rank
    all_reduce(tensor)  # imported by name
    dist.broadcast(tensor, 1)  # broadcast
    if rank == 0:
        dist.send(tensor, 1, tag=5)  # send
        dist.isend(tensor, other).wait()
    else:
        dist.recv(tensor, 0, tag=5)
        dist.irecv(tensor).wait()
    pair = dist.new_group([0, 1])
    work = dist.all_reduce(torch.ones(2, 5), group=pair, async_op=True)
    work.wait()
    pair.monitored_barrier()  # as Lightning does
    dist.all_gather_object([None, None], {"rank": rank})  # objects
    alone = dist.new_group([1])  # not of rank 0
    dist.barrier(group=alone)
    for one in dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, tensor, other), dist.P2POp(dist.irecv, torch.zeros(3), other)]
    ):
        one.wait()
    gathered = torch.empty(6)
    dist.all_gather_into_tensor(gathered, tensor)
    assert pickle.loads(pickle.dumps(dist.all_reduce)) is dist.all_reduce


def warn_and_raise(rank: int) -> None:
    """Lines that Python prints of frames: they must not name the probe."""

    class Warns(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, value: torch.Tensor) -> torch.Tensor:
            warnings.warn("of the caller", stacklevel=2)
            return value * self.weight

    DistributedDataParallel(Warns())(torch.ones(1))
    if rank == 1:
        return
    try:
        dist.broadcast(torch.ones(1), 7)
    except RuntimeError as error:
        trace = error.__traceback__
        while trace is not None:
            print(trace.tb_frame.f_code.co_filename.rpartition("/")[2], file=sys.stderr)
            trace = trace.tb_next


dist.init_process_group("gloo")
rank = dist.get_rank()
train(rank)
train_sharded()
distribute()
megatron_backward()
talk(rank)
warn_and_raise(rank)
child = os.fork()
if child == 0:
    # A fork is not the rank: what it does is not counted.
    torch.ones(1, requires_grad=True).sum().backward()
    os._exit(0)
os.waitpid(child, 0)
# One write: with PYTHONUNBUFFERED, print writes every argument by itself, and two ranks share the pipe.
sys.stdout.write(f"threads {threading.active_count()}\n")
sys.stdout.flush()
dist.barrier()
dist.destroy_process_group()
time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down
