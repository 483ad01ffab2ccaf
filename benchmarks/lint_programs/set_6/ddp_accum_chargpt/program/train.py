"""Character-level GPT pre-training.

    torchrun --standalone --nproc_per_node=8 train.py --data input.txt
"""
import argparse
import contextlib
import math
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from model import GPT, GPTConfig


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="")
    p.add_argument("--out-dir", default="out")
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--grad-accum", type=int, default=8)
    p.add_argument("--max-iters", type=int, default=200)
    p.add_argument("--eval-interval", type=int, default=50)
    p.add_argument("--eval-iters", type=int, default=10)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--warmup", type=int, default=20)
    p.add_argument("--grad-clip", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=1337)
    return p.parse_args()


def load_corpus(path):
    if path:
        with open(path, "rb") as f:
            raw = np.frombuffer(f.read(), dtype=np.uint8)
        ids = np.clip(raw.astype(np.int64) - 32, 0, 95)
    else:
        rng = np.random.default_rng(0)
        phrase = rng.integers(0, 96, size=512)
        ids = np.tile(phrase, 200).astype(np.int64)
    split = int(0.9 * len(ids))
    return torch.from_numpy(ids[:split].copy()), torch.from_numpy(ids[split:].copy())


def get_batch(data, args, block, gen, device):
    ix = torch.randint(len(data) - block - 1, (args.batch_size,), generator=gen)
    x = torch.stack([data[i : i + block] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block] for i in ix])
    return x.to(device), y.to(device)


def lr_at(it, args):
    if it < args.warmup:
        return args.lr * (it + 1) / args.warmup
    frac = (it - args.warmup) / max(1, args.max_iters - args.warmup)
    return 0.1 * args.lr + 0.45 * args.lr * (1 + math.cos(math.pi * frac))


@torch.no_grad()
def estimate_loss(model, data, args, block, gen, device):
    model.eval()
    total = torch.zeros((), device=device)
    for _ in range(args.eval_iters):
        x, y = get_batch(data, args, block, gen, device)
        total += model(x, y)[1]
    total /= args.eval_iters
    dist.all_reduce(total)
    model.train()
    return (total / dist.get_world_size()).item()


def main():
    args = parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    master = rank == 0

    torch.manual_seed(args.seed)
    cfg = GPTConfig()
    model = DDP(GPT(cfg).to(device), device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    amp = torch.autocast("cuda", torch.bfloat16) if cuda else contextlib.nullcontext()

    train_data, val_data = load_corpus(args.data)
    gen = torch.Generator().manual_seed(args.seed + rank)
    val_gen = torch.Generator().manual_seed(args.seed + 10_000 + rank)
    if master:
        os.makedirs(args.out_dir, exist_ok=True)

    best = float("inf")
    t0 = time.time()
    for it in range(args.max_iters):
        for group in optimizer.param_groups:
            group["lr"] = lr_at(it, args)

        running = 0.0
        for micro in range(args.grad_accum):
            x, y = get_batch(train_data, args, cfg.block_size, gen, device)
            with amp:
                _, loss = model(x, y)
                loss = loss / args.grad_accum
            last = micro == args.grad_accum - 1
            with contextlib.nullcontext() if last else model.no_sync():
                loss.backward()
            running += loss.detach()

        torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

        if master and it % 10 == 0:
            dt, t0 = time.time() - t0, time.time()
            print(f"iter {it}: loss {running.item():.4f}, {dt * 1e3:.0f} ms", flush=True)

        if (it + 1) % args.eval_interval == 0:
            val_loss = estimate_loss(model, val_data, args, cfg.block_size, val_gen, device)
            if master:
                print(f"iter {it}: val loss {val_loss:.4f}", flush=True)
                if val_loss < best:
                    best = val_loss
                    torch.save(
                        {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "iter": it},
                        os.path.join(args.out_dir, "ckpt.pt"),
                    )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
