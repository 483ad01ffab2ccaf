"""ArcFace embeddings for landmark retrieval, with recall@1 on a gallery."""
import math
import tempfile
from types import SimpleNamespace

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from tracking import NullTracker, RunTracker

cfg = SimpleNamespace(places=12, dim=16, batch=12, lr=3e-3, epochs=8, max_steps=45,
                      s=16.0, m=0.2, seed=8)


class ArcHead(nn.Module):
    def __init__(self, dim, classes, s, m):
        super().__init__()
        self.w = nn.Parameter(torch.empty(classes, dim))
        nn.init.xavier_uniform_(self.w)
        self.s, self.cos_m, self.sin_m = s, math.cos(m), math.sin(m)

    def forward(self, emb, y):
        cos = F.normalize(emb) @ F.normalize(self.w).t()
        sin = (1 - cos.pow(2)).clamp_min(1e-6).sqrt()
        shifted = cos * self.cos_m - sin * self.sin_m
        hot = F.one_hot(y, cos.size(1)).bool()
        return self.s * torch.where(hot, shifted, cos)


class Retrieval(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(40, 48), nn.LayerNorm(48), nn.PReLU(), nn.Linear(48, cfg.dim))
        self.head = ArcHead(cfg.dim, cfg.places, cfg.s, cfg.m)

    def forward(self, x, y):
        return self.head(self.encoder(x), y)


def photos(n, seed):
    centres = torch.randn(cfg.places, 40, generator=torch.Generator().manual_seed(0))
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(cfg.places, (n,), generator=g)
    return centres[y] + 0.8 * torch.randn(n, 40, generator=g), y


@torch.no_grad()
def recall_at_1(encoder, queries, gallery):
    q, g = F.normalize(encoder(queries[0])), F.normalize(encoder(gallery[0]))
    return (gallery[1][(q @ g.t()).argmax(1)] == queries[1]).float().mean().item()


def fit(model, tracker):
    x, y = photos(360, 1)
    queries, gallery = photos(60, 2), photos(120, 3)
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data, seed=cfg.seed)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    step = 0
    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        for xb, yb in DataLoader(data, cfg.batch, sampler=sampler, drop_last=True):
            loss = F.cross_entropy(model(xb, yb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tracker.log(step, loss=loss.item())
            step += 1
            if step >= cfg.max_steps:
                return model.module
        tracker.log(step, recall=recall_at_1(model.module.encoder, queries, gallery))
    tracker.finish()
    return model.module


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(cfg.seed)
    root = tempfile.mkdtemp(prefix="landmarks")
    tracker = RunTracker(root) if dist.get_rank() == 0 else NullTracker()
    net = fit(DistributedDataParallel(Retrieval()), tracker)
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), f"{root}/model.pt")
        print("saved to", root, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
