import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from config import Config
from corpus import PackedBlocks, packed_tokens
from model import ByteLM


def endless(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


@torch.no_grad()
def evaluate(model, dataset, cfg, device):
    model.eval()
    rank, world = dist.get_rank(), dist.get_world_size()
    total = torch.zeros(2, device=device)
    for i in range(rank, len(dataset), world):
        x, y = dataset[i]
        total[0] += model(x[None].to(device), y[None].to(device))
        total[1] += 1
    dist.all_reduce(total)
    model.train()
    return (total[0] / total[1]).item()


def main():
    cfg = Config.from_args(sys.argv[1:])
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")

    splits = {
        split: PackedBlocks(packed_tokens(cfg.corpus_dir, split, cfg.block, cfg.scratch, local_rank), cfg.block)
        for split in ("train", "valid")
    }
    torch.manual_seed(cfg.seed)
    raw = ByteLM(cfg).to(device)
    model = DDP(raw, device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=(0.9, 0.95))

    sampler = DistributedSampler(splits["train"], shuffle=True, seed=cfg.seed, drop_last=True)
    loader = DataLoader(splits["train"], cfg.batch_size, sampler=sampler, drop_last=True)
    batches = endless(loader, sampler)
    for step in range(1, cfg.steps + 1):
        x, y = next(batches)
        loss = model(x.to(device), y.to(device))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % cfg.eval_every == 0 or step == cfg.steps:
            valid = evaluate(raw, splits["valid"], cfg, device)
            if dist.get_rank() == 0:
                print(f"step {step} train {loss.item():.3f} valid {valid:.3f}", flush=True)
                torch.save({"model": raw.state_dict(), "opt": opt.state_dict(), "step": step}, cfg.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
