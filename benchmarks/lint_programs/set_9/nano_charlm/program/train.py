"""Character-level language model.

    torchrun --standalone --nproc_per_node=4 train.py --data input.txt --max-minutes 230

On the shared cluster jobs are killed after four hours, so pass --max-minutes a
little below the limit: the run then stops cleanly and leaves a checkpoint.
"""
import argparse
import math
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from model import CharLM

START = time.monotonic()


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default=None)
    p.add_argument("--steps", type=int, default=20000)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--block", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--warmup", type=int, default=100)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--max-minutes", type=float, default=0.0, help="0 means no limit")
    p.add_argument("--seed", type=int, default=1337)
    p.add_argument("--out", default="charlm.pt")
    return p.parse_args()


def load_text(path):
    text = Path(path).read_text() if path else "the quick brown fox jumps over the lazy dog. " * 2000
    chars = sorted(set(text))
    table = {c: i for i, c in enumerate(chars)}
    return torch.tensor([table[c] for c in text], dtype=torch.long), chars


def get_batch(data, batch_size, block, generator):
    ix = torch.randint(0, len(data) - block - 1, (batch_size,), generator=generator).tolist()
    x = torch.stack([data[i : i + block] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block] for i in ix])
    return x, y


def lr_at(step, args):
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    frac = (step - args.warmup) / max(1, args.steps - args.warmup)
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, frac))))


def train(args, model, data, device, rank):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    generator = torch.Generator().manual_seed(args.seed * 1000 + rank)
    step = 0
    while step < args.steps:
        for group in optimizer.param_groups:
            group["lr"] = lr_at(step, args)
        x, y = get_batch(data, args.batch_size, args.block, generator)
        _, loss = model(x.to(device), y.to(device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1

        if step % args.log_every == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / dist.get_world_size():.4f}", flush=True)

        if args.max_minutes and time.monotonic() - START > args.max_minutes * 60:
            if rank == 0:
                print(f"time budget used up at step {step}", flush=True)
            break
    return step, optimizer


def main():
    args = get_args()
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        device, backend = torch.device("cuda", local_rank), "nccl"
    else:
        device, backend = torch.device("cpu"), "gloo"
    dist.init_process_group(backend)
    rank = dist.get_rank()
    torch.manual_seed(args.seed)

    data, chars = load_text(args.data)
    model = CharLM(len(chars), block=args.block).to(device)
    model = DDP(model, device_ids=[local_rank] if device.type == "cuda" else None)

    step, optimizer = train(args, model, data, device, rank)

    if rank == 0:
        torch.save(
            {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
             "step": step, "chars": chars},
            args.out,
        )
        print(f"saved {args.out}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
