"""torchrun --nproc_per_node 4 pretrain.py --tp 2"""
import argparse
import os
from dataclasses import asdict, dataclass

import torch
import torch.distributed as dist

from tpl import mpu
from tpl.grads import average_over_data_parallel, clip_grad_norm
from tpl.layers import TPLanguageModel


@dataclass
class Config:
    tp: int = 2
    vocab: int = 40
    dim: int = 32
    heads: int = 4
    depth: int = 2
    seq_len: int = 24
    batch: int = 16
    steps: int = 40
    lr: float = 0.2
    momentum: float = 0.9
    clip: float = 0.5
    seed: int = 1
    save: str = "ckpt"


def parse():
    p = argparse.ArgumentParser()
    for k, v in asdict(Config()).items():
        p.add_argument(f"--{k}", type=type(v), default=v)
    return Config(**vars(p.parse_args()))


def batches(cfg):
    """Members of one tensor-parallel group read the same rows."""
    g = torch.Generator().manual_seed(cfg.seed * 1000 + mpu.dp_rank())
    while True:
        start = torch.randint(cfg.vocab, (cfg.batch, 1), generator=g)
        stride = torch.randint(1, 4, (cfg.batch, 1), generator=g)
        seq = (start + stride * torch.arange(cfg.seq_len + 1)) % cfg.vocab
        yield seq[:, :-1], seq[:, 1:]


def main():
    cfg = parse()
    dist.init_process_group("gloo")
    mpu.initialize(cfg.tp)
    model = TPLanguageModel(cfg.vocab, cfg.dim, cfg.heads, cfg.depth, cfg.seq_len, cfg.seed)
    params = list(model.parameters())
    opt = torch.optim.SGD(params, lr=cfg.lr, momentum=cfg.momentum)

    for step, (ids, targets) in zip(range(1, cfg.steps + 1), batches(cfg)):
        loss = model(ids, targets)
        opt.zero_grad()
        loss.backward()
        average_over_data_parallel(params)
        norm = clip_grad_norm(params, cfg.clip)
        opt.step()
        if step % 10 == 0:
            shown = loss.detach().clone()
            dist.all_reduce(shown, group=mpu.dp_group())
            if dist.get_rank() == 0:
                print(f"step {step} | loss {shown.item() / mpu.dp_size():.4f} | grad norm {norm.item():.3f}", flush=True)

    if mpu.dp_rank() == 0:
        os.makedirs(cfg.save, exist_ok=True)
        torch.save(model.state_dict(), os.path.join(cfg.save, f"tp_rank_{mpu.tp_rank():02d}.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
