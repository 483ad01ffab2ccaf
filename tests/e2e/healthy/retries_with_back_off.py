"""Rank 0 reports to a tracking server that is not up yet: refused, it tries again after ever longer pauses."""

import argparse
import random
import socket
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(port: int, after: float) -> None:
    """A tracking server: takes one report and thanks for it, once it is up."""
    time.sleep(after)
    with socket.create_server(("127.0.0.1", port)) as listener:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(b"thanks")


def report(port: int, text: str, attempts: int) -> int:
    """Send it, with pauses of up to four seconds; the number of attempts that it took."""
    pause = 0.25
    for attempt in range(1, attempts + 1):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5.0) as connection:
                connection.sendall(text.encode())
                if connection.recv(1024) == b"thanks":
                    return attempt
        except OSError:
            time.sleep(pause)
            pause = min(2 * pause, 4.0)
    raise TimeoutError(f"no answer after {attempts} attempts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other steps and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, seconds = source.randint(8, 24), source.uniform(9.0, 14.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    for step in range(steps):
        loss = model(torch.randn(8, 6)).square().mean()
        loss.backward()
        if step == steps // 2 and rank == 0:
            port = free_port()
            server = threading.Thread(target=serve, args=(port, seconds))
            server.start()
            print(f"step {step}: reported with attempt {report(port, str(loss.item()), 100)}", flush=True)
            server.join()
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
