"""Two ranks that mp.spawn starts; each receives before it sends."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank: int, port: int) -> None:
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    halo = torch.zeros(4)
    dist.recv(halo, src=1 - rank)
    dist.send(halo, dst=1 - rank)


if __name__ == "__main__":
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(work, args=(port,), nprocs=2)
