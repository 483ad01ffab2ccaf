"""SimCLR-style pretraining with negatives from all ranks and an EMA copy of the encoder."""
import logging
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from archive import Archive

STEPS, BATCH, TAU = 50, 12, 0.2
log = logging.getLogger("simclr")


class GatherWithGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        n = grad.size(0) // dist.get_world_size()
        return grad[dist.get_rank() * n:(dist.get_rank() + 1) * n]


def nt_xent(a, b):
    a, b = F.normalize(a), F.normalize(b)
    everyone = GatherWithGrad.apply(b)
    target = torch.arange(len(a)) + dist.get_rank() * len(a)
    return F.cross_entropy(a @ everyone.t() / TAU, target)


def encoder(width=256):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1), nn.GroupNorm(4, 32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(128, width), nn.ReLU(), nn.Linear(width, 64),
    )


def two_views(images):
    flipped = images.flip(-1)
    return images + 0.1 * torch.randn_like(images), flipped + 0.1 * torch.randn_like(images)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s r{rank} %(message)s")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DDP(encoder())
    ema = AveragedModel(model.module, multi_avg_fn=get_ema_multi_avg_fn(0.98))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    archive = Archive(tempfile.mkdtemp(prefix="simclr-")) if rank == 0 else None
    g = torch.Generator().manual_seed(100 + rank)
    for step in range(STEPS):
        images = torch.rand(BATCH, 3, 16, 16, generator=g)
        first, second = two_views(images)
        za, zb = model(torch.cat([first, second])).chunk(2)
        loss = nt_xent(za, zb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update_parameters(model.module)
        if step % 10 == 9:
            log.info("step %d loss %.4f", step, loss.item())
        if rank == 0 and step == STEPS // 2:
            name = archive.store(f"ck{step}", {"net": model.module.state_dict(),
                                               "ema": ema.module.state_dict(),
                                               "opt": opt.state_dict()})
            log.info("archived %s (%d bytes)", name, os.path.getsize(name))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
