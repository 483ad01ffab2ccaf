import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from settings import Settings
from store import BestWeights


class Forecaster(nn.Module):
    def __init__(self, window, horizon, width):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(window), nn.Linear(window, width), nn.GELU(), nn.Linear(width, window))
            for _ in range(3)
        )
        self.out = nn.Linear(window, horizon)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.out(x)


def series(n, window, horizon, seed):
    g = torch.Generator().manual_seed(seed)
    freq, phase = 0.1 + 0.4 * torch.rand(n, 1, generator=g), 6.28 * torch.rand(n, 1, generator=g)
    full = torch.sin(freq * torch.arange(window + horizon) + phase)
    full = full + 0.05 * torch.randn(full.shape, generator=g)
    return TensorDataset(full[:, :window], full[:, window:])


@torch.no_grad()
def mean_absolute_error(model, dataset, device):
    model.eval()
    x, y = dataset.tensors
    part = slice(dist.get_rank(), None, dist.get_world_size())
    error = (model(x[part].to(device)) - y[part].to(device)).abs()
    stats = torch.stack([error.sum(), torch.tensor(float(error.numel()), device=device)])
    dist.all_reduce(stats)
    model.train()
    return (stats[0] / stats[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="runs")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rank = dist.get_rank()

    cfg = Settings(**vars(args))
    if rank == 0:
        cfg.dump()
    torch.manual_seed(cfg.seed)

    train_set = series(1024, cfg.window, cfg.horizon, seed=1)
    val_set = series(200, cfg.window, cfg.horizon, seed=2)
    test_set = series(200, cfg.window, cfg.horizon, seed=3)
    sampler = DistributedSampler(train_set, seed=cfg.seed)
    loader = DataLoader(train_set, cfg.batch_size, sampler=sampler)

    model = Forecaster(cfg.window, cfg.horizon, cfg.width).to(device)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    best = BestWeights(cfg.run_dir)

    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = F.smooth_l1_loss(model(x.to(device)), y.to(device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        score = mean_absolute_error(model, val_set, device)
        saved = best.offer(model, score)
        if rank == 0:
            print(f"epoch {epoch} val_mae {score:.4f}{' *' if saved else ''}", flush=True)

    best.restore(model)
    test_score = mean_absolute_error(model, test_set, device)
    if rank == 0:
        print(f"{cfg.run_dir.name}: best val {best.score:.4f} test {test_score:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
