import math
import os
import sys
import tomllib
from types import SimpleNamespace

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from model import TinyLM


def read_config(path):
    with open(path, "rb") as f:
        raw = tomllib.load(f)
    return SimpleNamespace(**{k: SimpleNamespace(**v) for k, v in raw.items()})


class TokenStream:
    """Random windows out of one long token file; every rank draws its own windows."""

    def __init__(self, path, batch, length, seed):
        self.tokens = np.memmap(path, dtype=np.uint16, mode="r")
        self.batch, self.length = batch, length
        self.rng = np.random.default_rng(seed)

    def next(self):
        starts = self.rng.integers(0, len(self.tokens) - self.length - 1, self.batch)
        rows = np.stack([self.tokens[s : s + self.length + 1] for s in starts]).astype(np.int64)
        rows = torch.from_numpy(rows).pin_memory().cuda(non_blocking=True)
        return rows[:, :-1], rows[:, 1:]


def param_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]


def lr_lambda(o, steps):
    def f(step):
        if step < o.warmup:
            return (step + 1) / o.warmup
        t = (step - o.warmup) / max(1, steps - o.warmup)
        return o.min_lr_ratio + (1 - o.min_lr_ratio) * 0.5 * (1 + math.cos(math.pi * t))

    return f


def shard(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def main():
    cfg = read_config(sys.argv[1])
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = init_device_mesh("cuda", (world,), mesh_dim_names=("dp",))

    torch.manual_seed(cfg.run.seed)
    model = TinyLM(**vars(cfg.model)).cuda()
    opt = torch.optim.AdamW(
        param_groups(model, cfg.optim.weight_decay), lr=cfg.optim.lr, betas=(0.9, 0.95)
    )
    shard(model, mesh)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda(cfg.optim, cfg.run.steps))

    data = TokenStream(cfg.run.tokens, cfg.run.batch, cfg.model.max_len, cfg.run.seed + rank)
    model.train()
    for step in range(1, cfg.run.steps + 1):
        running = torch.zeros((), device="cuda")
        for micro in range(cfg.run.accum):
            model.set_requires_gradient_sync(micro == cfg.run.accum - 1)
            x, y = data.next()
            logits = model(x)
            loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten()) / cfg.run.accum
            loss.backward()
            running += loss.detach()
        gnorm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.optim.clip)
        opt.step()
        sched.step()
        model.zero_grad(set_to_none=True)

        if step % 20 == 0:
            dist.all_reduce(running, op=dist.ReduceOp.AVG)
            gnorm = gnorm.full_tensor()
            if rank == 0:
                lr = sched.get_last_lr()[0]
                print(f"{step:6d}  loss {running.item():.3f}  gnorm {gnorm.item():.2f}  lr {lr:.2e}")

        if step % cfg.run.save_every == 0 or step == cfg.run.steps:
            path = os.path.join(cfg.run.out, f"step-{step}")
            dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=path)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
