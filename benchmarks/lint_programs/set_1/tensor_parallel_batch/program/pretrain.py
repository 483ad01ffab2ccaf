import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F

from tpgpt import parallel as mpu
from tpgpt.layers import GPT


def data_iterator(path, seq, micro_batch, seed):
    tokens = np.load(path, mmap_mode="r")
    n = (len(tokens) - 1) // seq
    epoch = 0
    while True:
        order = np.random.default_rng(seed + epoch).permutation(n)
        order = order[: n - n % (micro_batch * mpu.dp_size())][mpu.dp_rank() :: mpu.dp_size()]
        for i in range(0, len(order), micro_batch):
            rows = [tokens[j * seq : j * seq + seq + 1] for j in order[i : i + micro_batch]]
            t = torch.from_numpy(np.stack(rows).astype(np.int64))
            yield {"tokens": t[:, :-1], "labels": t[:, 1:]}
        epoch += 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--tp", type=int, default=1)
    ap.add_argument("--vocab", type=int, default=50304)
    ap.add_argument("--dim", type=int, default=2048)
    ap.add_argument("--layers", type=int, default=24)
    ap.add_argument("--heads", type=int, default=16)
    ap.add_argument("--seq", type=int, default=1024)
    ap.add_argument("--micro-batch", type=int, default=4)
    ap.add_argument("--iters", type=int, default=10000)
    ap.add_argument("--lr", type=float, default=3e-4)
    args = ap.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    mpu.initialize(args.tp)

    torch.manual_seed(1234)
    model = GPT(args.vocab, args.dim, args.layers, args.heads, args.seq).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    data = data_iterator(args.data, args.seq, args.micro_batch, 99) if mpu.tp_rank() == 0 else None

    for it in range(args.iters):
        batch = next(data) if data is not None else None
        batch = mpu.broadcast_batch(batch, ("tokens", "labels"), mpu.tp_group())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(batch["tokens"])
        loss = F.cross_entropy(logits.float().flatten(0, 1), batch["labels"].flatten())
        loss.backward()
        mpu.reduce_gradients(model)
        norm = mpu.clip_gradients(model, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

        if it % 10 == 0:
            avg = loss.detach().clone()
            dist.all_reduce(avg, group=mpu.dp_group())
            avg /= mpu.dp_size()
            if dist.get_rank() == 0:
                print(f"iter {it} | loss {avg.item():.4f} | grad norm {norm.item():.3f}", flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
