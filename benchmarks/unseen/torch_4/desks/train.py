# %% [markdown]
# # Intraday risk: two desks, two books
# Each process prices its own scenarios; the desks agree on their hedges.

# %%
import time

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(2024)

# %%
books = {"rates": nn.Linear(10, 1), "credit": nn.Linear(10, 1)}
channels = {name: dist.new_group() for name in books}
optimizers = {name: torch.optim.SGD(book.parameters(), lr=0.01) for name, book in books.items()}


# %%
def scenarios(n):
    g = torch.Generator().manual_seed(rank)
    for i in range(n):
        x = torch.randn(12, 10, generator=g)
        shock = {"rates": 2.0, "credit": 1.0}
        if i >= 34 and rank == 1:
            shock = {"rates": 1.0, "credit": 9.0}
        yield {name: (x, size * torch.ones(12, 1) * 3) for name, size in shock.items()}


# %%
def hedge(name):
    """Average a book's gradient over the desks and take a step."""
    for p in books[name].parameters():
        dist.all_reduce(p.grad, group=channels[name])
        p.grad /= world
    optimizers[name].step()


def by_exposure(batch):
    """Largest position first."""
    return sorted(batch, key=lambda name: -batch[name][1].mean().item())


# %%
history = []
for number, batch in enumerate(scenarios(80)):
    losses = {}
    for name, (x, y) in batch.items():
        optimizers[name].zero_grad()
        losses[name] = (books[name](x) - y).abs().mean()
        losses[name].backward()
    for name in by_exposure(batch):
        hedge(name)
    history.append({n: l.item() for n, l in losses.items()})
    time.sleep(0.02)

# %%
if rank == 0:
    print(history[-1])
dist.destroy_process_group()
