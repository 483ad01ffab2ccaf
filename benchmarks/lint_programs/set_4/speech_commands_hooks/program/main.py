import argparse
import math

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from kws.dist_utils import init
from kws.hooks import HOOKS
from kws.trainer import Trainer


def tones(n, seed, classes=8, length=1024):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, classes, (n,), generator=g)
    t = torch.arange(length) / length
    freq = 20.0 + 15.0 * label[:, None]
    wave = torch.sin(2 * math.pi * freq * t + 6.28 * torch.rand(n, 1, generator=g))
    return TensorDataset((wave + 0.5 * torch.randn(n, length, generator=g))[:, None], label)


def loader(data, batch_size, train):
    sampler = DistributedSampler(data, shuffle=train, drop_last=train)
    return DataLoader(data, batch_size, sampler=sampler, drop_last=train)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--clips", type=int, default=4000)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--work-dir", default="runs/kws")
    p.add_argument("--hooks", nargs="+", default=["SamplerSeedHook", "LogHook", "BestCheckpointHook"])
    args = p.parse_args()

    device = init()
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv1d(1, 16, 64, stride=8), nn.GroupNorm(4, 16), nn.ReLU(),
        nn.Conv1d(16, 32, 9, stride=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 8),
    ).to(device)
    model = DistributedDataParallel(net, device_ids=[device.index] if device.type == "cuda" else None)
    trainer = Trainer(
        model, torch.optim.AdamW(model.parameters(), lr=args.lr),
        loader(tones(args.clips, 1), args.batch_size, True),
        loader(tones(args.clips // 8, 2), args.batch_size, False),
        [HOOKS[name]() for name in args.hooks], device, args.work_dir,
    )
    trainer.train(args.epochs)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
