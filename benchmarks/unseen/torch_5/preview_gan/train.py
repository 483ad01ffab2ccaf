import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from previews import NoPreviews, PreviewWriter


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--preview-rank", type=int, default=1)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    previews = PreviewWriter() if rank == args.preview_rank else NoPreviews()
    torch.manual_seed(rank)
    generator, critic = DDP(mlp(8, 32, 64)), DDP(mlp(64, 32, 1))
    g_optim = torch.optim.Adam(generator.parameters(), lr=1e-3)
    c_optim = torch.optim.Adam(critic.parameters(), lr=1e-3)
    sheet = torch.randn(900, 8)
    for step in range(args.steps):
        real = torch.rand(8, 64).round()
        fake = generator(torch.randn(8, 8))
        c_loss = critic(torch.cat([real, fake.detach()])).squeeze(1)
        c_loss = (c_loss[8:].relu() + (1 - c_loss[:8]).relu()).mean()
        c_optim.zero_grad()
        c_loss.backward()
        c_optim.step()
        g_loss = -critic.module(fake).mean()
        g_optim.zero_grad()
        g_loss.backward()
        g_optim.step()
        time.sleep(0.02)
        if step % 6 == 5:
            with torch.no_grad():
                previews.add(f"step {step}", generator.module(sheet))
    previews.close()
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("trained", args.steps, "steps", flush=True)


if __name__ == "__main__":
    main()
