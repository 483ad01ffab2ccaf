import datetime
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from vault import Vault, await_step


def net(width=300):
    return torch.nn.Sequential(torch.nn.Linear(20, width), torch.nn.Mish(), torch.nn.Linear(width, width),
                               torch.nn.Mish(), torch.nn.Linear(width, 1))


def main(total=40):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    board = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False) if rank == 0 else None
    port = [board.port if rank == 0 else None]
    dist.broadcast_object_list(port, src=0)
    if board is None:
        board = dist.TCPStore("127.0.0.1", port[0], is_master=False, wait_for_workers=False,
                              timeout=datetime.timedelta(seconds=60))
    torch.manual_seed(0)
    model = DDP(net())
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    vault = Vault(board) if rank == 0 else None
    gen = torch.Generator().manual_seed(rank)
    for step in range(1, total + 1):
        x = torch.randn(8, 20, generator=gen)
        loss = (model(x)[:, 0] - x.norm(dim=1)).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.02)
        if step in (20, total) and vault:
            vault.put(step, {"model": model.module.state_dict(), "opt": opt.state_dict()})
    if vault:
        vault.join()
    else:
        await_step(board, total)
    dist.barrier()
    dist.destroy_process_group()
    print(f"{rank} of pid {os.getpid()} leaves", flush=True)


if __name__ == "__main__":
    main()
