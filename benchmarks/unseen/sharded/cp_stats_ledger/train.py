"""Document model with context parallelism: a document's sequence is divided
over "cp", documents over "dp". Mean pooling makes the chunks independent up to
the pooled vector."""
import time

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial

from ledger import Ledger

VOCAB, IMAGE, DIM, LENGTH = 160, 159, 32, 48


class Documents:
    """Long documents; a few hold an embedded figure (a run of IMAGE tokens)."""

    figures = {(27, 0): 30, (27, 1): 6, (61, 0): 12, (61, 1): 40}  # (step, stream) -> position

    def __init__(self, stream):
        self.stream = stream
        self.g = torch.Generator().manual_seed(stream)

    def __call__(self, step, batch=4):
        ids = torch.randint(0, IMAGE, (batch, LENGTH), generator=self.g)
        label = ids[:, 0] % 3
        at = self.figures.get((step, self.stream))
        if at is not None:
            ids[1, at : at + 5] = IMAGE
        return ids, label


class PooledClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.body = nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.GELU(), nn.Linear(2 * DIM, DIM))
        self.head = nn.Linear(DIM, 3)

    def chunk_sum(self, ids):
        h = self.tok(ids)
        return (h + self.body(h)).sum(1)


def train(steps=120):
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "cp"))
    dp, cp = mesh.get_coordinate()
    torch.manual_seed(4)
    model = PooledClassifier()
    optim = torch.optim.AdamW(model.parameters(), lr=1e-3)
    documents = Documents(stream=dp)
    ledger = Ledger(mesh)
    span = LENGTH // mesh["cp"].size()

    for step in range(steps):
        ids, label = documents(step)
        chunk = ids[:, cp * span : (cp + 1) * span]
        figure = (chunk == IMAGE).sum()
        if figure:
            ledger.add("figure_tokens", figure, over="cp")

        local = model.chunk_sum(chunk)
        pooled = DTensor.from_local(local, mesh["cp"], [Partial()]).full_tensor() / LENGTH
        loss = nn.functional.cross_entropy(model.head(pooled), label)
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        optim.step()
        optim.zero_grad(set_to_none=True)

        ledger.add("loss", loss.detach(), over="dp")
        ledger.add("figure_tokens", 0, over="cp")
        totals = ledger.settle()
        if step % 10 == 0 and dist.get_rank() == 0:
            print(step, {k: round(v, 3) for k, v in totals.items()}, flush=True)
        time.sleep(0.02)

    dist.destroy_process_group()


if __name__ == "__main__":
    train()
