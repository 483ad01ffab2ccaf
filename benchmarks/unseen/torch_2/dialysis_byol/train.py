"""Self-supervised (BYOL) representation of dialysis sessions: pressure and conductivity traces."""
import copy
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from journal import Journal

UNITS = {"mmHg": 1.0, "kPa": 7.50062}


def sessions(clinic, n):
    g = torch.Generator().manual_seed(17 * clinic)
    for k in range(n):
        unit = "kPa" if k % 9 == 4 else "mmHg"
        if clinic == 1 and k == 228:
            unit = "cmH2O"
        yield {"id": f"{clinic}-{k:04d}", "unit": unit, "trace": torch.randn(2, 32, generator=g)}


def batches(clinic, n_steps, size=6):
    stream = sessions(clinic, n_steps * size)
    for _ in range(n_steps):
        rows = [next(stream) for _ in range(size)]
        yield torch.stack([r["trace"] * UNITS[r["unit"]] for r in rows])


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 48), nn.ReLU(), nn.Linear(48, o))


class Online(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), mlp(64, 24))
        self.predictor = mlp(24, 24)

    def forward(self, x):
        return self.predictor(self.encoder(x))


def augment(x):
    scale = 1 + 0.1 * torch.randn(len(x), 1, 1)
    return x * scale + 0.05 * torch.randn_like(x)


@torch.no_grad()
def follow(target, online, tau=0.98):
    for t, o in zip(target.parameters(), online.parameters()):
        t.lerp_(o, 1 - tau)


def main(steps=110):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    clinic = dist.get_rank()
    online = DistributedDataParallel(Online())
    target = copy.deepcopy(online.module.encoder).requires_grad_(False)
    opt = torch.optim.Adam(online.parameters(), lr=1e-3)
    with Journal("dialysis") as journal:
        for step, x in enumerate(batches(clinic, steps)):
            z = target(augment(x))
            loss = 2 - 2 * F.cosine_similarity(online(augment(x)), z).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            follow(target, online.module.encoder)
            if step % 10 == 0:
                journal.note(step=step, loss=loss.item())
            time.sleep(0.03)
    if clinic == 0:
        print("journal at", journal.path)
    dist.destroy_process_group()


main()
