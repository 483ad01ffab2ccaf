"""Will the customer take the offer? Towers sharded with FSDP2, one region per rank."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from baskets import Orders
from model import Offer

STEPS = 400


def build(mesh):
    model = Offer()
    for tower in (model.basket, model.photo, model.top):
        fully_shard(tower, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = build(mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    running = 0.0
    for step, batch in enumerate(Orders(rank, STEPS)):
        loss = nn.functional.binary_cross_entropy_with_logits(model(batch), batch.bought)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running = 0.95 * running + 0.05 * loss.item()
        if rank == 0 and step % 25 == 0:
            print(f"{step:4d} {running:.4f}", flush=True)
    total = torch.tensor(running)
    dist.all_reduce(total)
    if rank == 0:
        print(f"mean loss over the regions: {total.item() / dist.get_world_size():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
