"""Dense retrieval of patents with hard negatives from an index that is refreshed during training (Fabric)."""
import shutil
import time
from pathlib import Path

import torch
from lightning.fabric import Fabric
from torch import nn

from negatives import NegativeIndex


def stream(desk, batches, size=8, dim=20):
    """What one examiner's desk works on: texts, their cited patents, and which of these are newly filed."""
    gen = torch.Generator().manual_seed(desk * 7 + 1)
    for number in range(batches):
        query = torch.randn(size, dim, generator=gen)
        cited = query + 0.3 * torch.randn(size, dim, generator=gen)
        filed = torch.rand(size, generator=gen) < 0.6
        filed[0] = True
        if desk == 1 and 12 <= number < 24:        # the office is closed
            filed[:] = False
        yield query, cited, filed


class Encoder(nn.Module):
    def __init__(self, dim=20, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, width), nn.GELU(), nn.Linear(width, width), nn.LayerNorm(width))

    def forward(self, x):
        return nn.functional.normalize(self.layers(x), dim=-1)


def contrast(encoder, query, cited, negatives):
    both = encoder(torch.cat([query, cited, negatives]))
    q, rest = both[:len(query)], both[len(query):]
    return nn.functional.cross_entropy(q @ rest.T * 10, torch.arange(len(q)))


def train(fabric, batches=80, refresh_every=12):
    fabric.seed_everything(3)
    encoder = Encoder()
    encoder, optimizer = fabric.setup(encoder, torch.optim.AdamW(encoder.parameters(), lr=1e-3))
    home = Path(f"/tmp/patent-index/desk-{fabric.global_rank}")
    shutil.rmtree(home, ignore_errors=True)
    fabric.barrier()
    index = NegativeIndex(home)
    for number, (query, cited, filed) in enumerate(stream(fabric.global_rank, batches), start=1):
        index.file(cited[filed])
        loss = contrast(encoder, query, cited, index.sample(8))
        fabric.backward(loss)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        time.sleep(0.03)
        if number % refresh_every == 0:
            index.refresh()
            fabric.print(f"batch {number}: loss {loss.item():.3f}, {len(index)} patents indexed")
    fabric.barrier()


if __name__ == "__main__":
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    train(fabric)
