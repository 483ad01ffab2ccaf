"""River gauges of different length, trained under Join; the first rank draws the hydrographs at the end."""
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

YEARS = (30, 44, 37)


def gauge(rank):
    g = torch.Generator().manual_seed(rank)
    for _ in range(YEARS[rank]):
        rain = torch.rand(8, 12, generator=g)
        yield rain, rain.cumsum(1)[:, -1:] / 12


def draw(model, rows=36):
    """An ASCII picture, line by line, as slowly as the plotting service really is."""
    out = []
    for k in range(rows):
        flow = model(torch.full((1, 12), k / rows)).item()
        out.append("#" * max(1, int(30 * abs(flow))))
        time.sleep(0.5)
    return out


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(2)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.ELU(), torch.nn.Linear(24, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    with Join([model]):
        for rain, flow in gauge(rank):
            opt.zero_grad()
            torch.nn.functional.mse_loss(model(rain), flow).backward()
            opt.step()
            time.sleep(0.05)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        with torch.no_grad():
            print("\n".join(draw(model.module)[-5:]), flush=True)


if __name__ == "__main__":
    main()
