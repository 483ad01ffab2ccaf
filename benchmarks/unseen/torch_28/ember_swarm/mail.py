"""Embers travel one strip downwind: a count first, then the rows if there are any."""
import torch
import torch.distributed as dist

from strip import HEAT

ASH = 0.01


def post(embers, dst):
    dist.send(torch.tensor([len(embers)]), dst)
    if len(embers) == 0:
        return
    if embers[:, HEAT].max() < ASH:      # burnt out, not worth a message
        return
    dist.send(embers.contiguous(), dst)


def collect(src):
    count = torch.zeros(1, dtype=torch.long)
    dist.recv(count, src)
    if count.item() == 0:
        return torch.zeros(0, 4)
    block = torch.zeros(int(count), 4)
    dist.recv(block, src)
    return block


def pass_on(embers):
    rank, world = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % world, (rank - 1) % world
    # even strips speak first, otherwise everybody would listen
    if rank % 2 == 0:
        post(embers, right)
        return collect(left)
    arrived = collect(left)
    post(embers, right)
    return arrived
