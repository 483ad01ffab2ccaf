import builtins
import datetime
import os
import time
from collections import defaultdict

import torch
import torch.distributed as dist


class SmoothedValue:
    """Track a global average and the latest value of a series."""

    def __init__(self):
        self.total = 0.0
        self.count = 0
        self.value = 0.0

    def update(self, value, n=1):
        self.value = value
        self.count += n
        self.total += value * n

    def synchronize_between_processes(self):
        if not is_dist_avail_and_initialized():
            return
        t = torch.tensor([self.count, self.total], dtype=torch.float64, device=current_device())
        dist.barrier()
        dist.all_reduce(t)
        t = t.tolist()
        self.count = int(t[0])
        self.total = t[1]

    @property
    def global_avg(self):
        return self.total / max(self.count, 1)

    def __str__(self):
        return f"{self.value:.4f} ({self.global_avg:.4f})"


class MetricLogger:
    def __init__(self, delimiter="  "):
        self.meters = defaultdict(SmoothedValue)
        self.delimiter = delimiter

    def update(self, **kwargs):
        for k, v in kwargs.items():
            self.meters[k].update(v.item() if isinstance(v, torch.Tensor) else v)

    def synchronize_between_processes(self):
        for meter in self.meters.values():
            meter.synchronize_between_processes()

    def __str__(self):
        return self.delimiter.join(f"{k}: {m}" for k, m in self.meters.items())

    def log_every(self, iterable, print_freq, header=""):
        start = time.time()
        i = 0
        for obj in iterable:
            yield obj
            if i % print_freq == 0:
                print(f"{header} [{i}]  {self}")
            i += 1
        print(f"{header} Total time: {datetime.timedelta(seconds=int(time.time() - start))}")


def setup_for_distributed(is_master):
    builtin_print = builtins.print

    def print(*args, **kwargs):
        force = kwargs.pop("force", False)
        if is_master or force:
            builtin_print(*args, **kwargs, flush=True)

    builtins.print = print


def is_dist_avail_and_initialized():
    return dist.is_available() and dist.is_initialized()


def get_world_size():
    return dist.get_world_size() if is_dist_avail_and_initialized() else 1


def get_rank():
    return dist.get_rank() if is_dist_avail_and_initialized() else 0


def is_main_process():
    return get_rank() == 0


def current_device():
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def init_distributed_mode(args):
    if "RANK" not in os.environ:
        print("Not using distributed mode")
        args.distributed = False
        return
    args.distributed = True
    args.gpu = int(os.environ["LOCAL_RANK"])
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(args.gpu)
        backend = "nccl"
    dist.init_process_group(backend=backend)
    dist.barrier()
    setup_for_distributed(is_main_process())
