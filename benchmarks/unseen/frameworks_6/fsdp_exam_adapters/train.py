import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from tutor import Tutor, shard


class Questions:
    def __init__(self, school, steps):
        self.school, self.steps = school, steps
        self.g = torch.Generator().manual_seed(40 + school)

    def __iter__(self):
        for i in range(self.steps):
            x = torch.randn(8, 16, generator=self.g)
            y = torch.randint(0, 5, (8,), generator=self.g)
            drawn = torch.rand(8, generator=self.g) < 0.4
            drawn[0] = True
            if self.school == 1 and i == 33:
                drawn[:] = False        # an oral examination
            yield x, drawn, y


def main(steps=70):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(6)
    model = shard(Tutor(), init_device_mesh("cpu", (world,)))
    optim = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step, (x, drawn, y) in enumerate(Questions(rank, steps)):
        loss = nn.functional.cross_entropy(model(x, drawn), y)
        loss.backward()
        optim.step()
        optim.zero_grad()
        time.sleep(0.02)
        if rank == 0 and step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
