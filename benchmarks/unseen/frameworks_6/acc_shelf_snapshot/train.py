import time

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast
from torch import nn

import stock


def refreshed(accelerator, old):
    """The process that owns the feed takes the new snapshot and hands it to the others."""
    fresh = torch.zeros_like(old)
    if accelerator.process_index == accelerator.num_processes - 1:
        fresh = stock.snapshot()[: len(old)]
    accelerator.wait_for_everyone()
    return broadcast(fresh, from_process=accelerator.num_processes - 1)


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
    optim = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optim = accelerator.prepare(model, optim)
    shelves = torch.randn(44, 12)
    g = torch.Generator().manual_seed(accelerator.process_index)
    for step in range(50):
        if step == 25:
            shelves = refreshed(accelerator, shelves)
            accelerator.print("new snapshot", tuple(shelves.shape))
        pick = torch.randint(0, len(shelves), (8,), generator=g)
        x = shelves[pick]
        loss = (model(x).squeeze(-1) - x.sum(1)).pow(2).mean()
        accelerator.backward(loss)
        optim.step()
        optim.zero_grad()
        time.sleep(0.03)
        if step % 10 == 0:
            total = accelerator.reduce(loss.detach(), reduction="mean")
            accelerator.print(step, round(total.item(), 4))
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
