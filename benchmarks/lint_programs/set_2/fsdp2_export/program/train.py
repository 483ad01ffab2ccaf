import argparse
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from model import GPT, GPTConfig


class TokenFile(Dataset):
    def __init__(self, path, block):
        self.data = np.memmap(path, dtype=np.uint16, mode="r")
        self.block = block

    def __len__(self):
        return (len(self.data) - 1) // self.block

    def __getitem__(self, i):
        s = i * self.block
        chunk = torch.from_numpy(self.data[s : s + self.block + 1].astype(np.int64))
        return chunk[:-1], chunk[1:]


def export_weights(model, out_dir, step):
    rank = dist.get_rank()
    opts = StateDictOptions(full_state_dict=True, cpu_offload=True)
    if rank == 0:
        weights = get_model_state_dict(model, options=opts)
        os.makedirs(out_dir, exist_ok=True)
        path = os.path.join(out_dir, f"gpt-{step:07d}.pt")
        torch.save(weights, path + ".tmp")
        os.replace(path + ".tmp", path)
        print(f"exported {path}", flush=True)


def shard(model):
    mp = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=mp)
    fully_shard(model, mp_policy=mp)
    return model


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/train.bin")
    p.add_argument("--out", default="runs/gpt")
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--block", type=int, default=1024)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--export-every", type=int, default=1000)
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    rank = dist.get_rank()

    torch.manual_seed(1234)
    model = shard(GPT(GPTConfig(block_size=args.block)).cuda())
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))

    ds = TokenFile(args.data, args.block)
    sampler = DistributedSampler(ds, shuffle=True, drop_last=True)
    loader = DataLoader(ds, args.batch, sampler=sampler, num_workers=2, drop_last=True, pin_memory=True)

    step, t0 = 0, time.time()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            logits = model(x)
            loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten())
            loss.backward()
            gnorm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
            step += 1

            if step % 50 == 0:
                gnorm = gnorm.full_tensor().item()
                avg = loss.detach().clone()
                dist.all_reduce(avg, op=dist.ReduceOp.AVG)
                if rank == 0:
                    dt = time.time() - t0
                    print(f"step {step} loss {avg.item():.4f} gnorm {gnorm:.2f} {dt:.1f}s", flush=True)
            if step % args.export_every == 0:
                export_weights(model, args.out, step)

    export_weights(model, args.out, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
