import argparse
import math
import os
import time
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from model import GPT

p = argparse.ArgumentParser()
p.add_argument("--data", default=None, help="text file; generated when missing")
p.add_argument("--out_dir", default="out")
p.add_argument("--max_iters", type=int, default=200)
p.add_argument("--warmup_iters", type=int, default=20)
p.add_argument("--eval_interval", type=int, default=50)
p.add_argument("--eval_iters", type=int, default=8)
p.add_argument("--batch_size", type=int, default=8)
p.add_argument("--block_size", type=int, default=64)
p.add_argument("--grad_accum", type=int, default=8, help="micro steps per update over all GPUs")
p.add_argument("--lr", type=float, default=1e-3)
p.add_argument("--grad_clip", type=float, default=1.0)
p.add_argument("--seed", type=int, default=1337)
args = p.parse_args()

ddp = int(os.environ.get("RANK", -1)) != -1
use_cuda = torch.cuda.is_available()
if ddp:
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    if use_cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    assert args.grad_accum % world_size == 0
    accum = args.grad_accum // world_size
else:
    rank, local_rank, world_size, accum = 0, 0, 1, args.grad_accum
device = f"cuda:{local_rank}" if use_cuda else "cpu"
master = rank == 0
if master:
    os.makedirs(args.out_dir, exist_ok=True)
torch.manual_seed(args.seed + rank)
amp = torch.autocast("cuda", dtype=torch.bfloat16) if use_cuda else nullcontext()

if args.data:
    with open(args.data, encoding="utf-8") as f:
        text = f.read()
else:
    text = "".join(f"{a} plus {b} is {a + b}.\n" for a in range(60) for b in range(60))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)
n_train = int(0.9 * len(data))
splits = {"train": data[:n_train], "val": data[n_train:]}


def get_batch(split, generator=None):
    d = splits[split]
    ix = torch.randint(len(d) - args.block_size - 1, (args.batch_size,), generator=generator)
    x = torch.stack([d[i:i + args.block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + args.block_size] for i in ix])
    return x.to(device), y.to(device)


def get_lr(it):
    if it < args.warmup_iters:
        return args.lr * (it + 1) / args.warmup_iters
    ratio = (it - args.warmup_iters) / max(1, args.max_iters - args.warmup_iters)
    return args.lr * (0.1 + 0.45 * (1.0 + math.cos(math.pi * ratio)))


model = GPT(len(chars), args.block_size).to(device)
decay = [q for q in model.parameters() if q.dim() >= 2]
other = [q for q in model.parameters() if q.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}],
    lr=args.lr, betas=(0.9, 0.99))
if ddp:
    model = DDP(model, device_ids=[local_rank] if use_cuda else None)
raw_model = model.module if ddp else model


@torch.no_grad()
def estimate_loss():
    raw_model.eval()
    gen = torch.Generator().manual_seed(args.seed)
    losses = torch.zeros(args.eval_iters)
    for k in range(args.eval_iters):
        with amp:
            losses[k] = raw_model(*get_batch("val", gen))[1].item()
    raw_model.train()
    return losses.mean().item()


def train_update():
    optimizer.zero_grad(set_to_none=True)
    total = 0.0
    for micro_step in range(accum):
        X, Y = get_batch("train")
        with amp:
            _, loss = model(X, Y)
            loss = loss / accum
        total += loss.detach()
        last = micro_step == accum - 1
        with model.no_sync() if ddp and not last else nullcontext():
            loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
    optimizer.step()
    return total


best_val = float("inf")
t0 = time.time()
for it in range(args.max_iters):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    loss = train_update()
    if (it + 1) % args.eval_interval == 0 and master:
        val = estimate_loss()
        dt = time.time() - t0
        print(f"iter {it + 1}: train {loss.item():.4f} val {val:.4f} ({dt:.1f}s)", flush=True)
        if val < best_val:
            best_val = val
            torch.save({"model": raw_model.state_dict(), "iter": it, "chars": chars},
                       os.path.join(args.out_dir, "ckpt.pt"))

if ddp:
    dist.destroy_process_group()
