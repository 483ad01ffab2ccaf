"""VAE on star-shaped outlines with a prefetch thread; the last rank writes the report when training is over."""
import argparse
import logging
import queue
import threading
import time

import torch
import torch.distributed as dist
from torch import nn

import report


def outlines(rank, n, size):
    g = torch.Generator().manual_seed(rank)
    angle = torch.linspace(0, 2 * torch.pi, 33)[:-1]
    for _ in range(n):
        k = torch.randint(2, 7, (size, 1), generator=g)
        yield 1 + 0.4 * torch.cos(k * angle) + 0.05 * torch.randn(size, 32, generator=g)


def prefetch(iterable, depth=4):
    """Runs an iterable in a thread."""
    box, end = queue.Queue(depth), object()

    def pump():
        for item in iterable:
            box.put(item)
        box.put(end)

    threading.Thread(target=pump, name="prefetch", daemon=True).start()
    return iter(box.get, end)


class VAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(32, 24), nn.SiLU(), nn.Linear(24, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 24), nn.SiLU(), nn.Linear(24, 32))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + (0.5 * logvar).exp() * torch.randn_like(mu)
        kl = 0.5 * (mu ** 2 + logvar.exp() - 1 - logvar).sum(1)
        return ((self.dec(z) - x) ** 2).sum(1).mean() + 0.1 * kl.mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batches", type=int, default=160)
    ap.add_argument("--size", type=int, default=8)
    ap.add_argument("--report", default="/tmp/vae_report.txt")
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"[{rank}] %(name)s: %(message)s")
    torch.manual_seed(0)
    vae, history = VAE(), []
    opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
    for step, x in enumerate(prefetch(outlines(rank, args.batches, args.size))):
        loss = vae(x)
        opt.zero_grad()
        loss.backward()
        for p in vae.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        opt.step()
        history.append({"step": step, "elbo": loss.item()})
        time.sleep(0.03)
    dist.barrier()
    dist.destroy_process_group()
    logging.info("trained, last loss %.3f", history[-1]["elbo"])
    if rank == world - 1:
        tries = report.render(history, args.report)
        logging.info("published with attempt %d", tries)


if __name__ == "__main__":
    main()
