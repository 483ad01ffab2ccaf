"""torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py --tokens tokens.bin"""
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from checkpointer import Checkpointer
from config import from_cli
from model import Decoder


def is_main():
    return dist.get_rank() == 0


class TokenStream:
    """Random windows of a memory-mapped uint16 file, a stream of its own per rank."""

    def __init__(self, cfg, rank):
        if cfg.tokens:
            self.data = np.memmap(cfg.tokens, dtype=np.uint16, mode="r")
        else:
            self.data = np.random.default_rng(0).integers(0, cfg.vocab, 100_000, dtype=np.uint16)
        self.rng = np.random.default_rng([cfg.seed, rank])
        self.cfg = cfg

    def next(self, device):
        n = self.cfg.seq_len
        starts = self.rng.integers(0, len(self.data) - n - 1, self.cfg.batch_size)
        rows = np.stack([self.data[s : s + n + 1] for s in starts]).astype(np.int64)
        rows = torch.from_numpy(rows).to(device)
        return rows[:, :-1], rows[:, 1:]


def main():
    cfg = from_cli()
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    device = torch.device(kind, int(os.environ["LOCAL_RANK"])) if kind == "cuda" else torch.device(kind)
    if kind == "cuda":
        torch.cuda.set_device(device)
    mesh = init_device_mesh(kind, (dist.get_world_size(),))

    torch.manual_seed(cfg.seed)
    model = Decoder(cfg).to(device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)

    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / cfg.warmup))
    checkpointer = Checkpointer(cfg.out, model, optimizer)
    stream = TokenStream(cfg, dist.get_rank())

    for step in range(1, cfg.steps + 1):
        x, y = stream.next(device)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)

        if step % 10 == 0:
            avg = loss.detach().clone()
            dist.all_reduce(avg)
            if is_main():
                print(f"step {step} loss {avg.item() / dist.get_world_size():.4f}", flush=True)

        if step % cfg.save_every == 0 or step == cfg.steps:
            if is_main():
                checkpointer.save(step)
            dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
