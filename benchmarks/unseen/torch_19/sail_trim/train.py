"""Learns the polar diagram of a class of boats from the speed logs of three of them."""
import argparse
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from boat import BOATS, Polar, SpeedLog
from keeper import Keeper


class Window:
    """Mean of the losses since the last checkpoint."""

    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total += value
        self.count += 1

    def close(self):
        mean = self.total / self.count
        self.total, self.count = 0.0, 0
        return mean


def fit(args, folder):
    rank = dist.get_rank()
    torch.manual_seed(2)
    model = DDP(Polar(args.width))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    keeper = Keeper(folder, newest=args.newest)
    window = Window()
    log = SpeedLog(BOATS[rank % len(BOATS)], args.batch)
    for step in range(1, args.steps + 1):
        x, speed = next(log)
        loss = nn.functional.huber_loss(model(x), speed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        window.add(loss.item())
        time.sleep(0.03)
        if step % args.save_every == 0:
            error = window.close()
            keeper.save(step, error, {"optimizer": optimizer.state_dict(), "log": log.random.get_state()})
            print(f"{log.boat} step {step}: error {error:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.004)
    parser.add_argument("--save-every", type=int, default=30)
    parser.add_argument("--newest", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    holder = [tempfile.mkdtemp(prefix="polar_") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(holder, src=0)
    fit(args, holder[0])
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(holder[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
