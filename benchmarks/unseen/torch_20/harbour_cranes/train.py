"""Time that a crane needs for a container. Quays have unequal numbers of batches; the days run under Join."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

from logbook import Logbook
from ships import Quay


def build(width):
    return nn.Sequential(nn.Linear(7, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))


def train_day(model, optimizer, batches):
    losses = []
    with Join([model]):
        for x, y in batches:
            loss = nn.functional.huber_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(round(loss.item(), 5))
            time.sleep(0.008)
    return losses


@torch.no_grad()
def storm_test(network, seconds):
    """How the crane's time scatters in gusts, on copies of one input, for as long as the office gives to it."""
    until = time.monotonic() + seconds
    g = torch.Generator().manual_seed(1)
    spread = []
    while time.monotonic() < until:
        spread.append(network(torch.randn(64, 7, generator=g)).std().item())
        time.sleep(0.02)
    return sum(spread) / len(spread)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    number = dist.get_rank()
    torch.manual_seed(8)
    model = DDP(build(args.width))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    quay, logbook = Quay(number, args.batch), Logbook(number)
    logbook.open()
    dist.barrier()
    for day in range(args.days):
        losses = train_day(model, optimizer, quay.day(day))
        logbook.enter(day, losses)
        mean = torch.tensor([sum(losses), float(len(losses))])
        dist.all_reduce(mean)
        if number == 1 and day == 2:
            print(f"storm: {storm_test(model.module, 3.0):.4f}", flush=True)
        if number == 0:
            print(f"day {day}: {mean[0].item() / mean[1].item():.4f}", flush=True)
    if number == 0:
        print(f"packed: {logbook.pack()} bytes", flush=True)
    dist.barrier()
    logbook.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
