"""How far away was the thunder? Four classes, one station per rank."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from clips import Station

STEPS = 400


def build():
    return nn.Sequential(nn.LayerNorm(80), nn.Linear(80, 64), nn.SiLU(), nn.Linear(64, 4))


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(11)
    model = DDP(build())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    station = Station(rank)

    hits = torch.zeros(1)
    for step in range(1, STEPS + 1):
        x, y = station.batch(8)
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        hits += (out.argmax(1) == y).float().mean()
        if step % 20 == 0:
            dist.all_reduce(hits)
            if rank == 0:
                print(f"step {step:4d}  accuracy {hits.item() / (20 * size):.3f}", flush=True)
            hits.zero_()

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
