import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from longdoc.schedule import BatchSchedule, host_of
from longdoc.trainer import Trainer


def documents(rank, count, batch=4, length=24):
    gen = torch.Generator().manual_seed(rank)
    for _ in range(count):
        yield torch.randint(0, 64, (batch, length), generator=gen)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    host = host_of(rank)
    trainer = Trainer(mesh, BatchSchedule(host))
    history = trainer.fit(documents(rank, int(os.environ.get("MICRO_BATCHES", 48))))
    if rank == 0:
        print(f"{host.name}: {trainer.updates} updates, loss {history[-1]:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
