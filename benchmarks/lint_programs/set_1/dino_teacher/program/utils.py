import math
import os
import random

import numpy as np
import torch
import torch.distributed as dist


def init_distributed_mode(args):
    args.rank = int(os.environ["RANK"])
    args.world_size = int(os.environ["WORLD_SIZE"])
    args.gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(args.gpu)
    dist.init_process_group(backend="nccl", init_method="env://",
                            world_size=args.world_size, rank=args.rank)
    print(f"| distributed init (rank {args.rank})", flush=True)
    dist.barrier()


def get_rank():
    return dist.get_rank() if dist.is_initialized() else 0


def get_world_size():
    return dist.get_world_size() if dist.is_initialized() else 1


def is_main_process():
    return get_rank() == 0


def save_on_master(*args, **kwargs):
    if is_main_process():
        torch.save(*args, **kwargs)


def fix_random_seeds(seed=31):
    # every process takes its own stream of augmentations and drop-path masks
    seed = seed + get_rank()
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    np.random.seed(seed)
    random.seed(seed)


def cosine_scheduler(base, final, epochs, niter_per_ep, warmup_epochs=0):
    warm = warmup_epochs * niter_per_ep
    total = epochs * niter_per_ep
    out = []
    for i in range(total):
        if i < warm:
            out.append(base * i / warm)
        else:
            t = (i - warm) / max(total - warm, 1)
            out.append(final + 0.5 * (base - final) * (1 + math.cos(math.pi * t)))
    return out


class Average:
    def __init__(self):
        self.sum, self.n = 0.0, 0

    def add(self, v):
        self.sum += v
        self.n += 1

    def over_processes(self):
        t = torch.tensor([self.sum, self.n], dtype=torch.float64, device="cuda")
        dist.all_reduce(t)
        return (t[0] / t[1]).item()
