import argparse
import json

import deepspeed
import numpy as np
import torch
import torch.distributed as dist
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from lm import CodeLM
from loop import Loop


class Bytes(Dataset):
    """Byte windows of one big file of source code."""

    def __init__(self, path, context):
        self.data = np.memmap(path, dtype=np.uint8, mode="r")
        self.context = context

    def __len__(self):
        return (len(self.data) - 1) // self.context

    def __getitem__(self, i):
        start = i * self.context
        return torch.from_numpy(self.data[start:start + self.context + 1].astype(np.int64))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--corpus", required=True)
    p.add_argument("--ds-config", default="ds_config.json")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--context", type=int, default=256)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--warmup", type=int, default=100)
    p.add_argument("--out", default="codelm")
    p.add_argument("--local_rank", type=int, default=0)
    args = p.parse_args()

    deepspeed.init_distributed("nccl" if torch.cuda.is_available() else "gloo")
    torch.manual_seed(1)
    with open(args.ds_config) as f:
        ds_config = json.load(f)
    accum = ds_config["gradient_accumulation_steps"]
    micro_batch = ds_config["train_micro_batch_size_per_gpu"]

    dataset = Bytes(args.corpus, args.context)
    sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)
    loader = DataLoader(dataset, micro_batch, sampler=sampler, drop_last=True, num_workers=2)
    model = CodeLM(layers=args.layers, context=args.context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    total = max(1, args.epochs * (len(loader) // accum))
    scheduler = LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / args.warmup) * max(0.05, 1 - s / total))
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, lr_scheduler=scheduler, config=ds_config)

    loop = Loop(engine, loader, sampler, accum)
    for epoch in range(args.epochs):
        loop.epoch(epoch)
        engine.save_checkpoint(args.out, tag=f"epoch{epoch}")
    if dist.get_rank() == 0:
        print(f"done after {loop.updates} updates", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
