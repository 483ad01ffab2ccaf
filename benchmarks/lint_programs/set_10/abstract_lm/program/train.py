import argparse
import json
import os

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from model import AbstractLM
from pretrained import warm_start


class Abstracts(Dataset):
    def __init__(self, n, seed, vocab=512, length=65):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(0, vocab, (n, 1), generator=g)
        stride = torch.randint(1, 7, (n, 1), generator=g)
        self.ids = (start + stride * torch.arange(length)) % vocab

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i]


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--ds-config", default="ds_config.json")
    p.add_argument("--init-from", default=None, help="state dict of an earlier run")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--samples", type=int, default=4096)
    p.add_argument("--seed", type=int, default=9)
    p.add_argument("--out", default="work/abstract_lm")
    p.add_argument("--local_rank", type=int, default=-1)
    return p.parse_args()


@torch.no_grad()
def evaluate(engine, loader):
    engine.eval()
    total = torch.zeros(2, device=engine.device)
    for ids in loader:
        loss = engine(ids.to(engine.device))
        total += torch.stack([loss.float(), torch.ones_like(loss, dtype=torch.float)])
    dist.all_reduce(total)
    engine.train()
    return (total[0] / total[1]).item()


def main():
    args = parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed()
    with open(args.ds_config) as f:
        ds_config = json.load(f)
    torch.manual_seed(args.seed)
    with deepspeed.zero.Init(config_dict_or_path=ds_config):
        model = AbstractLM()
    if args.init_from:
        warm_start(model, args.init_from)
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=ds_config
    )

    train_set, val_set = Abstracts(args.samples, args.seed), Abstracts(512, args.seed + 1)
    sampler = DistributedSampler(train_set, seed=args.seed, drop_last=True)
    micro = engine.train_micro_batch_size_per_gpu()
    loader = DataLoader(train_set, micro, sampler=sampler, drop_last=True)
    val_sampler = DistributedSampler(val_set, shuffle=False, drop_last=True)
    val_loader = DataLoader(val_set, micro, sampler=val_sampler, drop_last=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for ids in loader:
            loss = engine(ids.to(engine.device))
            engine.backward(loss)
            engine.step()
        val = evaluate(engine, val_loader)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: val loss {val:.4f}", flush=True)
        engine.save_checkpoint(args.out, tag=f"epoch{epoch}")
    engine.save_16bit_model(args.out, "model.bin")


if __name__ == "__main__":
    main()
