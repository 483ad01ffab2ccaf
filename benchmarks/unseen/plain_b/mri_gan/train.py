#!/usr/bin/env python
"""GAN on MRI slices; critic and generator gradients are averaged in groups of their own."""
import time

import torch
import torch.distributed as dist
from torch import nn

from slices import SIDE, slice_batches
from steps import CriticStep, GeneratorStep

LATENT = 8
PIXELS = SIDE * SIDE


def networks():
    torch.manual_seed(0)
    gen = nn.Sequential(nn.Linear(LATENT, 48), nn.ReLU(), nn.Linear(48, PIXELS), nn.Unflatten(1, (1, SIDE, SIDE)))
    critic = nn.Sequential(nn.Flatten(), nn.Linear(PIXELS, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
    return gen, critic


def fit(rank, epochs=2, batch=4):
    gen, critic = networks()
    critic_group = dist.new_group()
    gen_group = dist.new_group()
    step_c = CriticStep(critic, torch.optim.Adam(critic.parameters(), 2e-4, betas=(0.5, 0.9)), critic_group)
    step_g = GeneratorStep(gen, critic, torch.optim.Adam(gen.parameters(), 2e-4, betas=(0.5, 0.9)), gen_group)
    noise = torch.Generator().manual_seed(77 + rank)
    for epoch in range(epochs):
        for i, real in enumerate(slice_batches(rank, batch)):
            fake = gen(torch.randn(len(real), LATENT, generator=noise))
            c = step_c(real, fake)
            g = step_g(fake)
            time.sleep(0.02)
            if rank == 0 and i % 8 == 0:
                print(f"epoch {epoch} batch {i:3d}  critic {c:.3f}  generator {g:.3f}", flush=True)
    return gen


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group(backend="gloo")
    trained = fit(dist.get_rank())
    if dist.get_rank() == 0:
        torch.save(trained.state_dict(), "/tmp/mri_gan.pt")
    dist.destroy_process_group()
