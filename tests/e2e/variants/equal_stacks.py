"""One training loop and eight causes by which one rank falls out of step; all end with the same stacks on every rank.

The cause, the rank and the kind of loader are arguments, so that one program serves a whole table of tests.
"""

import argparse
import contextlib
import os
import socket
import time
from collections.abc import Iterable, Iterator

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

BATCHES = 8
CAUSES = ("uneven", "stop", "skip-forward", "skip-backward", "caught", "branch", "no-sync", "evaluate")


class TwoTowers(nn.Module):  # type: ignore[misc,unused-ignore]
    """Two branches of which one can be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 1)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, batch: Tensor, both: bool) -> Tensor:
        hidden = self.left(batch)
        return self.head(hidden + self.right(batch) if both else hidden)


def generated(loader: Iterable[list[Tensor]], count: int) -> Iterator[list[Tensor]]:
    """Batches through a generator of the user's own, which no counter of a loader sees ending."""
    made = list(loader)
    yield from made[:count]


def batches(kind: str, count: int) -> Iterable[list[Tensor]]:
    """`count` batches of four rows."""
    rows = torch.arange(count * 24, dtype=torch.float32).view(count * 4, 6) / (count * 24)
    loader: Iterable[list[Tensor]] = DataLoader(TensorDataset(rows), batch_size=4)
    if kind == "generator":
        return generated(loader, count)
    if kind == "accelerate":
        from accelerate.data_loader import prepare_data_loader

        prepared: Iterable[list[Tensor]] = prepare_data_loader(loader, put_on_device=False, num_processes=1)
        return prepared
    return loader


def decode(batch: Tensor, broken: bool) -> Tensor:
    if broken:
        raise ValueError("the batch cannot be decoded")
    return batch * 2 - 1


def train(args: argparse.Namespace, odd: bool, count: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for step, (batch,) in enumerate(batches(args.loader, count)):
        now = odd and step == BATCHES - 2
        last = odd and step == BATCHES - 1
        if now and args.cause == "stop":
            break
        if now and args.cause == "skip-forward":
            continue
        with model.no_sync() if last and args.cause == "no-sync" else contextlib.nullcontext():
            loss = model(batch, both=not (last and args.cause == "branch")).square().mean()
            if now and args.cause == "skip-backward":
                continue
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()


def train_catching(args: argparse.Namespace, odd: bool, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for step, (batch,) in enumerate(batches(args.loader, BATCHES)):
        try:
            batch = decode(batch, odd and step == BATCHES - 2)
            loss = model(batch, both=True).square().mean()
        except ValueError:
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()  # type: ignore[misc,untyped-decorator,unused-ignore]
def score(model: nn.Module) -> float:
    total = 0.0
    for (batch,) in batches("plain", 2):
        total += float(model(batch, both=True).square().mean())
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cause", choices=CAUSES)
    parser.add_argument("--culprit", type=int, default=1)
    parser.add_argument("--loader", choices=("plain", "generator", "accelerate"), default="plain")
    parser.add_argument("--wrap", choices=("ddp", "fsdp2"), default="ddp")
    parser.add_argument("--spawn", type=int, default=0, help="start that many ranks here, without a launcher")
    args = parser.parse_args()
    if args.spawn:
        with socket.create_server(("localhost", 0)) as listener:
            port: int = listener.getsockname()[1]
        mp.spawn(spawned, (args, port), nprocs=args.spawn)
    else:
        run(args)


def spawned(rank: int, args: argparse.Namespace, port: int) -> None:
    environ = {"RANK": str(rank), "WORLD_SIZE": str(args.spawn), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    os.environ.update(environ)
    run(args)


def wrapped(model: nn.Module, how: str) -> nn.Module:
    if how == "ddp":
        return DistributedDataParallel(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    sharded: nn.Module = fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    return sharded


def run(args: argparse.Namespace) -> None:
    dist.init_process_group("gloo")
    odd = dist.get_rank() == args.culprit
    count = BATCHES - 1 if odd and args.cause == "uneven" else BATCHES
    torch.manual_seed(0)
    model = wrapped(TwoTowers(), args.wrap)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if args.cause == "caught":
        train_catching(args, odd, model, optimizer)
    else:
        train(args, odd, count, model, optimizer)
    if args.cause == "evaluate" and odd:
        print(f"score {score(model):.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
