"""Surrogate of a slab of plasma: predict the next profile. HSDP on a 2 x 2 mesh, gloo.

Rows of the mesh are machines, columns the slabs of one machine.

    torchrun --nproc-per-node 4 train.py
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from meters import Board
from slab import CELLS, Slab

STEPS = 160
FLUSH = 8


class Surrogate(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.enter = nn.Linear(CELLS, width)
        self.inner = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.leave = nn.Linear(width, CELLS)

    def forward(self, profile):
        # the network learns the change only
        return profile + self.leave(self.inner(self.enter(profile)))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(13)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("machine", "slab"))
    model = fully_shard(Surrogate(), mesh=mesh["machine", "slab"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    slab = Slab(rank)
    board = Board({"flux": mesh["slab"].get_group(), "energy": dist.group.WORLD})
    for step in range(1, STEPS + 1):
        before, after = slab.advance()
        loss = nn.functional.mse_loss(model(before), after)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        board.add("flux", float(after[:, 0].sum() - before[:, 0].sum()))
        board.add("flux", float(after[:, -1].sum() - before[:, -1].sum()))
        for energy in slab.energies():
            board.add("energy", energy)
        if step % FLUSH == 0:
            values = board.flush()
            if rank == 0 and step % (5 * FLUSH) == 0:
                print(f"step {step}: loss {loss.item():.4f}", values, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
