import argparse
import os
import time

import numpy as np
import torch
import torch.distributed as dist

from link import StageLink
from schedule import OneFOneB
from stages import build_stage


def read_batch(tokens, rng, n_micro, mb, t):
    at = rng.integers(0, len(tokens) - t - 1, size=n_micro * mb)
    rows = np.stack([tokens[i : i + t + 1] for i in at]).astype(np.int64)
    rows = torch.from_numpy(rows).view(n_micro, mb, t + 1).cuda()
    return rows[:, :, :-1], rows[:, :, 1:]


def clip_(params, max_norm):
    total = torch.stack([p.grad.pow(2).sum() for p in params]).sum()
    dist.all_reduce(total)
    norm = total.sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for p in params:
        p.grad.mul_(factor)
    return norm


def run(a):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.backends.cuda.matmul.allow_tf32 = True
    dist.init_process_group("nccl")
    link = StageLink((a.mb, a.ctx, a.dim))

    torch.manual_seed(100 + link.stage)
    net = build_stage(link.stage, link.stages, a.layers, a.vocab, a.dim, a.heads, a.ctx).cuda()
    size = torch.tensor(sum(p.numel() for p in net.parameters()), device="cuda")
    dist.all_reduce(size)
    if link.last:
        print(f"{size.item() / 1e6:.0f}M parameters in {link.stages} stages")

    params = list(net.parameters())
    opt = torch.optim.AdamW(params, lr=a.lr, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = OneFOneB(net, link, a.micro)
    tokens = np.memmap(a.tokens, dtype=np.uint16, mode="r")
    rng = np.random.default_rng(a.seed)

    start = time.time()
    for it in range(1, a.iters + 1):
        loss = schedule.step(read_batch(tokens, rng, a.micro, a.mb, a.ctx))
        norm = clip_(params, 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        if it % 10 == 0 and link.last:
            print(f"{it}: loss {loss.item():.3f} norm {norm.item():.2f} {time.time() - start:.0f}s", flush=True)
        if it % a.save_every == 0:
            torch.save(net.state_dict(), f"{a.out}.stage{link.stage}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--tokens", required=True)
    ap.add_argument("--layers", type=int, default=24)
    ap.add_argument("--dim", type=int, default=2048)
    ap.add_argument("--heads", type=int, default=16)
    ap.add_argument("--ctx", type=int, default=1024)
    ap.add_argument("--vocab", type=int, default=50304)
    ap.add_argument("--mb", type=int, default=4)
    ap.add_argument("--micro", type=int, default=8)
    ap.add_argument("--iters", type=int, default=5000)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--save_every", type=int, default=1000)
    ap.add_argument("--out", default="ppgpt")
    run(ap.parse_args())
