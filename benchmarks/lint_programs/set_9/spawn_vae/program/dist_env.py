import os
import socket
from contextlib import closing

import torch
import torch.distributed as dist


def free_port() -> int:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def setup(rank: int, world_size: int, host: str = "127.0.0.1", port: int = free_port()) -> torch.device:
    """Joins the default process group and picks this process's device."""
    os.environ["MASTER_ADDR"] = host
    os.environ["MASTER_PORT"] = str(port)
    if torch.cuda.is_available():
        torch.cuda.set_device(rank)
        device, backend = torch.device("cuda", rank), "nccl"
    else:
        device, backend = torch.device("cpu"), "gloo"
    dist.init_process_group(backend, rank=rank, world_size=world_size)
    return device


def cleanup() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def reduce_mean(total: torch.Tensor, count: int) -> float:
    packed = torch.stack([total.double(), torch.tensor(float(count), device=total.device).double()])
    dist.all_reduce(packed)
    return (packed[0] / packed[1]).item()
