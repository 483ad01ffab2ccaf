"""Starts its three ranks by hand and waits for one after the other; rank 1 is lost in the middle of the loop.

python by_hand.py kill|return
"""

import os
import signal
import socket
import subprocess
import sys
import time

import torch
import torch.distributed as dist

RANKS = 3


def train(how: str) -> None:
    dist.init_process_group("gloo")
    total = torch.zeros(4)
    for step in range(40):
        if dist.get_rank() == 1 and step == 20:
            if how == "return":
                return
            os.kill(os.getpid(), signal.SIGKILL)
        dist.recv(total, 0) if dist.get_rank() == 2 else time.sleep(0.05)
        if dist.get_rank() == 0:
            dist.send(total + step, 2)
    dist.barrier()


def start(how: str) -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    whole = {**os.environ, "MASTER_ADDR": "localhost", "MASTER_PORT": port, "WORLD_SIZE": str(RANKS)}
    command = [sys.executable, __file__, how]
    ranks = [subprocess.Popen(command, env={**whole, "RANK": str(rank)}) for rank in range(RANKS)]
    return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(sys.argv[1])
    else:
        sys.exit(start(sys.argv[1]))
