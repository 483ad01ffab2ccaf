import functools
import os

import torch
import torch.distributed as dist


def init():
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")


def device():
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def is_main():
    return dist.get_rank() == 0


def main_process_only(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        if is_main():
            return fn(*args, **kwargs)
        return None
    return inner


@main_process_only
def log(message):
    print(message, flush=True)
