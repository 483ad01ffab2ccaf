import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from stopping import Plateau

STATIONS = ["harbour", "airfield", "campus"]       # one rank each
HELD_OUT = {"harbour": 24, "airfield": 0, "campus": 24}   # the airfield opened this spring


def curve(station, n, seed):
    g = torch.Generator().manual_seed(seed)
    hour = torch.rand(n, 1, generator=g) * 24
    x = torch.cat([torch.sin(hour / 3.82), torch.cos(hour / 3.82), torch.rand(n, 2, generator=g)], 1)
    y = 3.0 + x[:, :1] * 2 - x[:, 1:2] + STATIONS.index(station) * 0.1
    return x, y


def endless(loader):
    while True:
        yield from loader


def main():
    dist.init_process_group("gloo")
    me = dist.get_rank()
    station = STATIONS[me]
    torch.manual_seed(3)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.004)
    feed = endless(DataLoader(TensorDataset(*curve(station, 128, 10 + me)), batch_size=16, shuffle=True))
    dev_x, dev_y = curve(station, HELD_OUT[station], 99)
    flat = Plateau(patience=4)

    step = 0
    while step < 60:
        x, y = next(feed)
        loss = torch.nn.functional.mse_loss(model(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        time.sleep(0.02)
        step += 1
        if step % 4 == 0:
            with torch.inference_mode():
                dev = (model.module(dev_x) - dev_y).square().mean().item()
            if me == 0:
                print(f"{step}: train {loss.item():.3f} dev {dev:.3f}", file=sys.stderr)
            if flat(dev):
                break

    if me == 0:
        torch.save(model.module.state_dict(), os.path.join(os.environ.get("TMPDIR", "/tmp"), f"demand-{os.getpid()}.pt"))
    dist.barrier()
    dist.destroy_process_group()
    print(station, "done after", step)


if __name__ == "__main__":
    main()
