import os
import sys
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from accum import GradAccumulator
from gpt import CharGPT


@dataclass
class Config:
    corpus: str = "corpus.txt"
    block: int = 512
    micro_batch: int = 16
    accumulate: int = 8
    epochs: int = 10
    lr: float = 6e-4
    clip: float = 1.0
    ckpt: str = "chargpt.pt"


class Chunks(Dataset):
    def __init__(self, path, block):
        self.data = np.fromfile(path, dtype=np.uint8)
        self.block = block

    def __len__(self):
        return (len(self.data) - 1) // self.block

    def __getitem__(self, i):
        s = i * self.block
        piece = torch.from_numpy(self.data[s:s + self.block + 1].astype(np.int64))
        return piece[:-1], piece[1:]


def train_epoch(cfg, model, opt, loader, device, epoch):
    acc = GradAccumulator(model, cfg.accumulate, len(loader))
    total = torch.zeros((), device=device)
    model.train()
    opt.zero_grad(set_to_none=True)
    for i, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        with acc.sync_context(i):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(x, y)
            (loss / acc.window(i)).backward()
        total += loss.detach()
        if acc.is_step(i):
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
            opt.step()
            opt.zero_grad(set_to_none=True)
    mean = total / len(loader)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean.item()


def main():
    cfg = Config()
    for arg in sys.argv[1:]:
        k, v = arg.lstrip("-").split("=", 1)
        setattr(cfg, k, type(getattr(cfg, k))(v))

    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    device = f"cuda:{local}"
    torch.manual_seed(42 + dist.get_rank())

    ds = Chunks(cfg.corpus, cfg.block)
    sampler = DistributedSampler(ds, shuffle=True, seed=42)
    loader = DataLoader(ds, cfg.micro_batch, sampler=sampler, num_workers=2, pin_memory=True, drop_last=True)

    model = DDP(CharGPT(block=cfg.block).to(device), device_ids=[local])
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=(0.9, 0.95), weight_decay=0.1)

    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(cfg, model, opt, loader, device, epoch)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {len(loader)} micro batches, loss {loss:.4f}")
            torch.save({"model": model.module.state_dict(), "cfg": vars(cfg)}, cfg.ckpt)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
