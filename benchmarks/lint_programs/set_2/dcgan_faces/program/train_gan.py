import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms
from torchvision.datasets import ImageFolder

from networks import Discriminator, Generator, weights_init
from util import save_networks, save_samples


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--dataroot", required=True)
    p.add_argument("--outdir", default="out_gan")
    p.add_argument("--nz", type=int, default=100)
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--sample-every", type=int, default=500)
    return p.parse_args()


def bce(logits, value):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, value))


def main():
    opt = parse()
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    lr_ = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(lr_)
    dev = torch.device("cuda", lr_)
    torch.manual_seed(999 + rank)

    out = Path(opt.outdir)
    if rank == 0:
        out.mkdir(parents=True, exist_ok=True)

    tf = transforms.Compose([
        transforms.Resize(64), transforms.CenterCrop(64), transforms.ToTensor(),
        transforms.Normalize([0.5] * 3, [0.5] * 3),
    ])
    data = ImageFolder(opt.dataroot, tf)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, opt.batch, sampler=sampler, num_workers=4, drop_last=True, pin_memory=True)

    netG = DDP(Generator(opt.nz).apply(weights_init).to(dev), device_ids=[lr_])
    netD = DDP(Discriminator().apply(weights_init).to(dev), device_ids=[lr_])
    optG = torch.optim.Adam(netG.parameters(), lr=opt.lr, betas=(0.5, 0.999))
    optD = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(0.5, 0.999))
    fixed_noise = torch.randn(64, opt.nz, 1, 1, device=dev)

    step = 0
    for epoch in range(opt.epochs):
        sampler.set_epoch(epoch)
        for real, _ in loader:
            real = real.to(dev, non_blocking=True)

            # D
            netD.zero_grad(set_to_none=True)
            err_real = bce(netD(real), 0.9)
            err_real.backward()
            fake = netG(torch.randn(real.size(0), opt.nz, 1, 1, device=dev))
            err_fake = bce(netD(fake.detach()), 0.0)
            err_fake.backward()
            optD.step()

            # G
            netG.zero_grad(set_to_none=True)
            err_g = bce(netD(fake), 1.0)
            err_g.backward()
            optG.step()

            if rank == 0 and step % 50 == 0:
                print(f"[{epoch}/{opt.epochs}] step {step} D {(err_real + err_fake).item():.3f} G {err_g.item():.3f}")
            if rank == 0 and step % opt.sample_every == 0:
                save_samples(netG, fixed_noise, out / f"fake_{step:07d}.png")
            step += 1

        if rank == 0:
            save_networks(out / "latest.pt", step, G=netG.module, D=netD.module)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
