"""Each rank receives before it sends. Its locals hold what must never leave the process."""

import torch
import torch.distributed as dist


def exchange(api_key: str, pin: int) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    vault = {"token": api_key, "pin": pin, "raw": api_key.encode()}
    for round_number in range(3, 9):
        halo = torch.zeros(round_number)
        dist.recv(halo, src=(rank - 1) % size)
        dist.send(halo, dst=(rank + 1) % size)
    print(vault)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    exchange("hunter2-" * 3, 3 * 157_036_050)
