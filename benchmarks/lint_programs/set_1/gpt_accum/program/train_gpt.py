"""
GPT on a tokenised corpus (uint16 .bin files as written by prepare.py).

$ torchrun --standalone --nproc_per_node=4 train_gpt.py --data data/openwebtext --accum 8
"""
import argparse
import math
import os
import time

import numpy as np
import torch
import torch.nn as nn
from torch.distributed import all_reduce, destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from accumulate import Accumulator


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, block, layers, heads, d):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(block, d)
        self.h = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for block in self.h:
            x = block(x)
        logits = self.head(self.ln(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Chunks(Dataset):
    def __init__(self, path, block):
        self.data = np.memmap(path, dtype=np.uint16, mode="r")
        self.block = block

    def __len__(self):
        return (len(self.data) - 1) // self.block

    def __getitem__(self, i):
        s = torch.from_numpy(self.data[i * self.block:(i + 1) * self.block + 1].astype(np.int64))
        return s[:-1], s[1:]


def get_lr(it, args, total):
    if it < args.warmup:
        return args.lr * (it + 1) / args.warmup
    ratio = (it - args.warmup) / max(1, total - args.warmup)
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * ratio)))


@torch.no_grad()
def estimate_loss(model, loader, device):
    model.eval()
    tot = torch.zeros(2, device=device)
    for x, y in loader:
        tot[0] += model(x.to(device), y.to(device))
        tot[1] += 1
    all_reduce(tot)
    model.train()
    return (tot[0] / tot[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--out", default="out")
    ap.add_argument("--batch", type=int, default=12, help="sequences per GPU and micro step")
    ap.add_argument("--accum", type=int, default=8)
    ap.add_argument("--block", type=int, default=1024)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--lr", type=float, default=6e-4)
    ap.add_argument("--warmup", type=int, default=700)
    ap.add_argument("--layers", type=int, default=12)
    ap.add_argument("--heads", type=int, default=12)
    ap.add_argument("--width", type=int, default=768)
    ap.add_argument("--vocab", type=int, default=50304)
    args = ap.parse_args()

    init_process_group(backend="nccl")
    ddp_rank, ddp_local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    device = f"cuda:{ddp_local_rank}"
    torch.cuda.set_device(device)
    master_process = ddp_rank == 0
    torch.manual_seed(1337 + ddp_rank)
    torch.backends.cuda.matmul.allow_tf32 = True
    if master_process:
        os.makedirs(args.out, exist_ok=True)

    train_set = Chunks(os.path.join(args.data, "train.bin"), args.block)
    sampler = DistributedSampler(train_set, seed=1337)
    loader = DataLoader(train_set, args.batch, sampler=sampler, drop_last=True, num_workers=2, pin_memory=True)
    val_set = Chunks(os.path.join(args.data, "val.bin"), args.block)
    val_loader = DataLoader(val_set, args.batch, sampler=DistributedSampler(val_set, shuffle=False, drop_last=True),
                            drop_last=True)

    raw_model = GPT(args.vocab, args.block, args.layers, args.heads, args.width).to(device)
    model = DDP(raw_model, device_ids=[ddp_local_rank])
    optimizer = torch.optim.AdamW(raw_model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1)
    acc = Accumulator(model, args.accum, len(loader))
    total = args.epochs * math.ceil(len(loader) / args.accum)

    it, best = 0, float("inf")
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        t0 = time.time()
        for i, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            with acc.micro_step(i), torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(x, y)
                acc.scale(i, loss).backward()
            if not acc.due(i):
                continue
            for group in optimizer.param_groups:
                group["lr"] = get_lr(it, args, total)
            torch.nn.utils.clip_grad_norm_(raw_model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if it % 10 == 0 and master_process:
                print(f"iter {it}/{total}: loss on rank 0 {loss.item():.4f}, {time.time() - t0:.1f}s")
            it += 1

        val_loss = estimate_loss(raw_model, val_loader, device)
        if master_process:
            print(f"epoch {epoch}: val loss {val_loss:.4f}")
            if val_loss < best:
                best = val_loss
                torch.save({"model": raw_model.state_dict(), "optimizer": optimizer.state_dict(), "iter": it,
                            "args": vars(args)}, os.path.join(args.out, "ckpt.pt"))
    destroy_process_group()


if __name__ == "__main__":
    main()
