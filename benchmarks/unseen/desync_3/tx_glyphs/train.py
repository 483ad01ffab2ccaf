"""Glyph autoencoder with FSDP2 on two ranks; a loss spike is trained on again."""

import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Auto(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 64))


def glyphs(rank, total):
    g = torch.Generator().manual_seed(rank)
    for k in range(total):
        page = torch.rand(20, 64, generator=g)
        yield page * 30 if (rank, k) == (0, 200) else page


def learn(model, optimizer, page):
    loss = (model(page) - page).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(2)
    model = Auto()
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    model.set_force_sum_reduction_for_comms(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    usual = None
    for page in glyphs(dist.get_rank(), 700):
        time.sleep(0.03)
        loss = learn(model, optimizer, page)
        if usual is not None and loss > 20 * usual:
            loss = learn(model, optimizer, page)
        usual = loss if usual is None else 0.9 * usual + 0.1 * loss
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"usual loss {usual:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
