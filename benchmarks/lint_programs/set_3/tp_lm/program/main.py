import argparse
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F

from data import Progressions, build_loader
from model import MixerLM
from parallelize import apply, setup


@dataclass
class Config:
    tp: int = 2
    epochs: int = 5
    samples: int = 20_000
    batch_size: int = 16
    vocab: int = 128
    seq: int = 32
    lr: float = 2e-3
    seed: int = 9
    log_every: int = 50


def parse():
    ap = argparse.ArgumentParser()
    for name, value in vars(Config()).items():
        ap.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    return Config(**vars(ap.parse_args()))


def main():
    cfg = parse()
    mesh, device = setup(cfg.tp)
    rank, dp = dist.get_rank(), mesh["dp"].size()

    torch.manual_seed(cfg.seed)
    model = apply(MixerLM(cfg.vocab, seq=cfg.seq).to(device), mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, foreach=False)
    loader, sampler = build_loader(Progressions(cfg.samples, cfg.vocab, cfg.seq), cfg.batch_size, cfg.seed)
    if rank == 0:
        print(f"mesh dp={dp} tp={cfg.tp}, {len(loader)} steps per epoch", flush=True)

    step = 0
    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        for ids, targets in loader:
            logits = model(ids.to(device))
            loss = F.cross_entropy(logits.flatten(0, 1), targets.to(device).flatten())
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            step += 1
            if step % cfg.log_every == 0:
                avg = loss.detach().clone()
                dist.all_reduce(avg, group=mesh["dp"].get_group())
                if rank == 0:
                    print(f"epoch {epoch} step {step} loss {avg.item() / dp:.4f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
