import os
import sys
import time

import torch
import torch.distributed as dist
from omegaconf import OmegaConf
from torch.nn.parallel import DistributedDataParallel as DDP

from plm.model import ProteinLM
from plm.stream import build_loader


def lr_at(step, cfg):
    if step < cfg.warmup:
        return cfg.lr * (step + 1) / cfg.warmup
    return cfg.lr * max(0.1, 1.0 - (step - cfg.warmup) / (cfg.steps - cfg.warmup))


def main():
    cfg = OmegaConf.merge(OmegaConf.load("conf/small.yaml"), OmegaConf.from_cli())

    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(cfg.train.seed + rank)

    if rank == 0:
        os.makedirs(cfg.train.out, exist_ok=True)
        OmegaConf.save(cfg, os.path.join(cfg.train.out, "config.yaml"))
        print(f"{world} GPUs, {world * cfg.train.batch} sequences per step", flush=True)

    model = ProteinLM(cfg.model.dim, cfg.model.depth, cfg.model.heads, cfg.data.max_len).cuda()
    model = DDP(model, device_ids=[gpu])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.train.lr, weight_decay=0.01,
                                  betas=(0.9, 0.98))
    batches = iter(build_loader(cfg, rank, world))

    window = torch.zeros((), device="cuda")
    tic = time.time()
    for step in range(cfg.train.steps):
        tokens, labels = next(batches)
        for group in optimizer.param_groups:
            group["lr"] = lr_at(step, cfg.train)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(tokens.cuda(non_blocking=True), labels.cuda(non_blocking=True))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        window += loss.detach()

        if (step + 1) % cfg.train.log_every == 0:
            dist.all_reduce(window)
            mean = window.item() / (world * cfg.train.log_every)
            if rank == 0:
                rate = cfg.train.log_every * cfg.train.batch * world / (time.time() - tic)
                print(f"step {step + 1} loss {mean:.4f} {rate:.0f} seq/s", flush=True)
            window.zero_()
            tic = time.time()
        if rank == 0 and (step + 1) % cfg.train.save_every == 0:
            torch.save({"model": model.module.state_dict(), "step": step + 1},
                       os.path.join(cfg.train.out, f"step_{step + 1:07d}.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
