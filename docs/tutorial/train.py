"""Learn to add sixteen numbers; rank 0 saves the model every twenty steps."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def save(model: nn.Module, step: int) -> None:
    torch.save(model.state_dict(), f"step-{step}.pt")
    print(f"saved step {step}", flush=True)
    dist.barrier()


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 101):
        numbers = torch.randn(32, 16)
        loss = (model(numbers) - numbers.sum(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 and rank == 0:
            save(model.module, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
