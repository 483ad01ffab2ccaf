"""A short training in which one rank sleeps for something that another process, rank or thread holds."""

import argparse
import fcntl
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.distributed_c10d import _get_default_store
from torch.nn.parallel import DistributedDataParallel


class Journal:
    """Writes what happened to a file, from a thread of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.lock = threading.Lock()
        self.wanted: queue.Queue[str] = queue.Queue()
        self.busy = threading.Event()
        threading.Thread(target=self.write, name="journal", daemon=True).start()

    def write(self) -> None:
        with self.lock:
            self.busy.set()
            self.lines.append(self.wanted.get())  # nobody puts anything

    def note(self, line: str) -> None:
        with self.lock:  # the journal has it
            self.lines.append(line)


def thread_lock(rank: int, folder: Path) -> None:
    journal = Journal()
    if rank == 1:
        journal.busy.wait()
        journal.note("half way")


def kernel_lock(rank: int, folder: Path) -> None:
    with (folder / "cache.lock").open("w") as file:
        if rank == 0:
            fcntl.flock(file, fcntl.LOCK_EX)
        dist.barrier()
        if rank == 1:
            fcntl.flock(file, fcntl.LOCK_EX)  # the first rank has it
        dist.barrier()


def polled_lock(rank: int, folder: Path) -> None:
    lock = folder / "busy"
    lock.touch()
    if rank == 1:
        while lock.exists():
            time.sleep(0.2)  # nobody removes it


def connection(rank: int, folder: Path) -> None:
    """The second rank wants a word from the first, which does not know."""
    if rank == 0:
        server = socket.create_server(("127.0.0.1", 0))
        (folder / "port.new").write_text(str(server.getsockname()[1]))
        (folder / "port.new").rename(folder / "port")
        kept.append(server.accept()[0])
    if rank == 1:
        while not (folder / "port").exists():
            time.sleep(0.05)
        with socket.create_connection(("127.0.0.1", int((folder / "port").read_text()))) as client:
            client.recv(1)  # the first rank says nothing


def output(rank: int, folder: Path) -> None:
    if rank == 1:
        sys.stdout.write("x" * (1 << 20))  # more than a pipe holds
        sys.stdout.flush()


def child(rank: int, folder: Path) -> None:
    if rank == 1:
        subprocess.run([sys.executable, "-c", "import signal\nsignal.pause()"])  # does not end


def store_key(rank: int, folder: Path) -> None:
    """Every rank but the last publishes its part; the first wants all of them."""
    store, size = _get_default_store(), dist.get_world_size()
    if rank < size - 1:
        store.set(f"part/{rank}", "done")  # the last is left out
    if rank == 0:
        for peer in range(size):
            store.get(f"part/{peer}")


kept: list[socket.socket] = []
WAYS: dict[str, Callable[[int, Path], None]] = {
    "thread-lock": thread_lock,
    "kernel-lock": kernel_lock,
    "polled-lock": polled_lock,
    "connection": connection,
    "output": output,
    "child": child,
    "store-key": store_key,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=sorted(WAYS))
    parser.add_argument("folder", type=Path, help="where the ranks meet in files")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(nn.Linear(4, 4))
    for step in range(6):
        model(torch.randn(2, 4)).sum().backward()
        if step == 3:
            WAYS[args.way](rank, args.folder)
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
