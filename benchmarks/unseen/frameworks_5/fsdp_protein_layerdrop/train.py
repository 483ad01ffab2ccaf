import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy

from model import SequenceModel


@dataclass(frozen=True)
class Plan:
    seed: int = 40
    steps: int = 60
    warmup: int = 12
    drop_rate: float = 0.04
    batch: int = 4
    length: int = 24
    mask: int = 21


def sequences(plan, generator):
    for _ in range(plan.steps):
        letters = torch.randint(0, 21, (plan.batch, plan.length), generator=generator)
        hidden = torch.rand(letters.shape, generator=generator) < 0.15
        hidden[:, 0] = True
        yield letters.masked_fill(hidden, plan.mask), letters, hidden


def shard(model):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    plan = Plan()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(plan.seed)
    # every process needs noise of its own, as with dropout
    noise = torch.Generator().manual_seed(plan.seed * 100 + rank)
    model = shard(SequenceModel(generator=noise))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    data = sequences(plan, torch.Generator().manual_seed(rank))

    for step, (masked, letters, hidden) in enumerate(data):
        if step == plan.warmup:
            model.drop_rate = plan.drop_rate
        loss = cross_entropy(model(masked)[hidden], letters[hidden])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        time.sleep(0.02)
        if rank == 0 and step % 10 == 0:
            print(step, round(loss.item(), 4), flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
