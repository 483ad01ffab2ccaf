import datetime
import os
import time

import torch
import torch.distributed as dist


def init_distributed(args):
    args.gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(args.gpu)
    dist.init_process_group(backend="nccl", init_method="env://")
    args.rank = dist.get_rank()
    args.world_size = dist.get_world_size()


def is_main_process():
    return dist.get_rank() == 0


class Meter:
    """Running mean of a quantity, weighted by the number of samples."""

    def __init__(self, device):
        self.stat = torch.zeros(2, dtype=torch.float64, device=device)

    def update(self, value, n):
        self.stat[0] += float(value) * n
        self.stat[1] += n

    @property
    def local(self):
        return (self.stat[0] / self.stat[1].clamp(min=1)).item()

    @property
    def average(self):
        stat = self.stat.clone()
        if dist.get_world_size() > 1:
            dist.all_reduce(stat)
        return (stat[0] / stat[1].clamp(min=1)).item()


class MeterBoard:
    def __init__(self, device):
        self.device = device
        self.meters = {}
        self.start = time.time()

    def add(self, *names):
        for name in names:
            self.meters[name] = Meter(self.device)
        return self

    def __getitem__(self, name):
        return self.meters[name]

    def progress(self):
        """cheap line for the inner loop"""
        return "  ".join(f"{k} {m.local:.4f}" for k, m in self.meters.items())

    def summary(self):
        took = datetime.timedelta(seconds=int(time.time() - self.start))
        return "  ".join(f"{k} {m.average:.4f}" for k, m in self.meters.items()) + f"  ({took})"


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        pred = output.topk(max(topk), dim=1).indices
        hit = pred.eq(target[:, None])
        return [100.0 * hit[:, :k].any(1).float().mean() for k in topk]
