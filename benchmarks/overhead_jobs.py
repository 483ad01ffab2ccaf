"""The jobs whose steps `benchmarks/watch_overhead.py` takes: small ones that hooks show most in, and real models."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

#: batches of one pass over a loader: more than a job takes
PASS = 1_000_000


@dataclass(frozen=True, slots=True)
class Job:
    """A model with what trains it. Made in a rank, after `init_process_group`."""

    #: takes a step with a batch
    step: Callable[[Any], None]
    #: a loader of so many batches
    batches: Callable[[int], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of job, and what its steps may cost."""

    name: str
    about: str
    make: Callable[[], Job]
    #: the most that a step may take under watch, in steps without; None where none is promised
    ratio: float | None = None
    #: the fewest steps of a block
    steps: int = 1
    #: whether the time inside of hooks is measured, too: dynamo would see the clock
    inside: bool = True


def tiny() -> Job:
    import torch
    from torch import nn

    return _ddp(nn.Sequential(*(nn.Linear(256, 256) for _ in range(4))), torch.randn(64, 256))


def mnist() -> Job:
    import torch
    from torch import nn

    layers = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25)]
    layers += [nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)]
    return _ddp(nn.Sequential(*layers), torch.randn(64, 1, 28, 28))


def collectives() -> Job:
    """A step that averages each of its 32 small gradients by a call of its own."""
    import torch
    import torch.distributed as dist
    from torch import nn

    model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(16)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(batch: Any) -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()

    return Job(step, _same(torch.randn(32, 64)))


def loader() -> Job:
    """Two data workers for each rank, which decode nothing: a batch is there as soon as it can be."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    job = _ddp(nn.Sequential(nn.Linear(64, 64)), torch.randn(16, 64))
    samples = TensorDataset(torch.randn(16, 64))

    def batches(number: int) -> Iterable[Any]:
        order = list(range(16)) * number
        for (batch,) in DataLoader(samples, sampler=order, batch_size=16, num_workers=2):
            yield batch

    return Job(job.step, batches)


def compiled() -> Job:
    import torch
    from torch import nn

    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.GELU(), nn.LayerNorm(256))]
    return _ddp(nn.Sequential(*layers), torch.randn(64, 256), compile_=True)


def fsdp2() -> Job:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(6)))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return _trained(model, torch.randn(64, 256))


def transformer() -> Job:
    """Six blocks, 4.7 million parameters, 512 tokens."""
    import torch
    from torch import nn

    block = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    return _ddp(nn.TransformerEncoder(block, 6, enable_nested_tensor=False), torch.randn(4, 128, 256))


def resnet() -> Job:
    """Three stages with two residual blocks each, 2.8 million parameters, 16 images."""
    import torch
    from torch import nn

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                *(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
                *(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)),
            )

        def forward(self, rows: Any) -> Any:
            return torch.relu(rows + self.body(rows))

    layers: list[nn.Module] = [nn.Conv2d(3, 64, 3, padding=1, bias=False)]
    for width in (64, 128, 256):
        layers += [Block(width), Block(width)]
        if width < 256:
            layers += [nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * width)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10)]
    return _ddp(nn.Sequential(*layers), torch.randn(16, 3, 32, 32))


#: by the name on the command line, the cheapest first
KINDS = {
    kind.name: kind
    for kind in (
        Kind("tiny", "tiny steps: four linear layers of 256, DDP", tiny, steps=40),
        Kind("collectives", "32 small `all_reduce` a step, called by the program", collectives, steps=20),
        Kind(
            "loader",
            "loader-heavy: a small step, two data workers for each rank, which each block starts",
            loader,
            steps=40,
        ),
        Kind("mnist", "the network of PyTorch's MNIST example, 64 images, DDP", mnist, ratio=1.01),
        Kind("fsdp2", "FSDP2: six blocks, sharded one by one", fsdp2, steps=10),
        Kind("compile", "`torch.compile` around DDP, eight blocks", compiled, steps=20, inside=False),
        Kind("resnet", "a small ResNet, DDP", resnet, ratio=1.01),
        Kind("transformer", "a transformer of six blocks, DDP", transformer, ratio=1.01),
    )
}


def _ddp(model: Any, batch: Any, *, compile_: bool = False) -> Job:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    wrapped = DistributedDataParallel(model)
    return _trained(torch.compile(wrapped) if compile_ else wrapped, batch)


def _trained(model: Any, batch: Any) -> Job:
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def step(rows: Any) -> None:
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()

    return Job(step, _same(batch))


def _same(batch: Any) -> Callable[[int], Iterable[Any]]:
    """A loader in the rank's own process that gives this batch each time; one pass over it is as long as the job."""
    from torch.utils.data import DataLoader, TensorDataset

    rows = iter(DataLoader(TensorDataset(batch[None]), sampler=[0] * PASS, batch_size=1))

    def batches(number: int) -> Iterable[Any]:
        for (row,) in itertools.islice(rows, number):
            yield row[0]

    return batches
