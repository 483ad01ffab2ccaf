"""Learns a surrogate of the basins' depth from the simulation, while it runs. Four basins, one per rank."""
import torch
import torch.distributed as dist
from torch import nn

from basin import CELLS, Basin
from halo import Halo

DAYS = 300


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * CELLS, 48), nn.Tanh(), nn.Linear(48, CELLS))

    def forward(self, depth, inflow):
        return depth + self.net(torch.cat([depth, inflow]))


def average_gradients(model):
    """One flat all-reduce: the model is too small for DDP to be worth it."""
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for p in model.parameters():
        p.grad.copy_(flat[start:start + p.numel()].view_as(p))
        start += p.numel()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = Surrogate()
    torch.manual_seed(10 + rank)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    basin = Basin(rank, Halo())
    for day in range(DAYS):
        basin.weather(day)
        before = basin.depth.clone()
        after = basin.advance()
        loss = nn.functional.mse_loss(model(before, basin.inflow), after)
        optimizer.zero_grad()
        loss.backward()
        average_gradients(model)
        optimizer.step()
        if rank == 0 and day % 20 == 0:
            print(f"day {day}: loss {loss.item():.5f}, sand {basin.depth.sum().item():.2f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
