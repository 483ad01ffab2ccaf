import argparse
import json
import random

import deepspeed
import numpy as np
import torch
from deepspeed.accelerator import get_accelerator
from torch.utils.data import DataLoader, DistributedSampler
from transformers import BertConfig, BertForMaskedLM

from data import MLMShards

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser.add_argument("--shards", type=str, required=True)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--save_dir", type=str, default="ckpt")
parser.add_argument("--save_interval", type=int, default=2000)
parser.add_argument("--seed", type=int, default=42)
parser.add_argument("--ds_cfg", type=str, default="ds_config.json")


def seed_all(s):
    random.seed(s)
    np.random.seed(s)
    torch.manual_seed(s)


def train_epoch(engine, loader, cfg, args, epoch):
    accum = cfg["gradient_accumulation_steps"]
    running, n = 0.0, 0
    for i, batch in enumerate(loader):
        batch = {k: v.to(engine.device, non_blocking=True) for k, v in batch.items()}
        loss = engine(**batch).loss
        engine.backward(loss)
        running += loss.item()
        n += 1
        if (i + 1) % accum == 0:
            engine.step()

        if n == 100:
            t = torch.tensor(running / n, device=engine.device)
            torch.distributed.all_reduce(t)
            t /= torch.distributed.get_world_size()
            if engine.global_rank == 0:
                print(f"epoch {epoch} it {i + 1} updates {engine.global_steps} (x{accum}) loss {t.item():.4f}")
            running, n = 0.0, 0
        if (i + 1) % args.save_interval == 0:
            engine.save_checkpoint(args.save_dir, tag=f"e{epoch}_i{i + 1}")


def main():
    args = parser.parse_args()
    deepspeed.init_distributed()
    get_accelerator().set_device(args.local_rank)
    seed_all(args.seed)
    with open(args.ds_cfg) as f:
        cfg = json.load(f)

    model = BertForMaskedLM(BertConfig(vocab_size=32768))
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=cfg
    )

    data = MLMShards(args.shards, seed=args.seed)
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(
        data,
        batch_size=engine.train_micro_batch_size_per_gpu(),
        sampler=sampler,
        num_workers=4,
        pin_memory=True,
        drop_last=True,
    )
    engine.train()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_epoch(engine, loader, cfg, args, epoch)
        engine.save_checkpoint(args.save_dir, tag=f"epoch{epoch}")


if __name__ == "__main__":
    main()
