"""Each rank has threads for a heartbeat, for fetching batches and for writing logs; one of them fetches slowly."""

import argparse
import queue
import random
import tempfile
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


class Fetcher(threading.Thread):
    """Puts batches into a queue of two; one of them takes long to come."""

    def __init__(self, batches: int, late: int, seconds: float) -> None:
        super().__init__(name="fetcher", daemon=True)
        self.ready: queue.Queue[Tensor | None] = queue.Queue(2)
        self.batches, self.late, self.seconds = batches, late, seconds

    def run(self) -> None:
        for number in range(self.batches):
            time.sleep(self.seconds if number == self.late else 0.02)
            self.ready.put(torch.randn(8, 6))
        self.ready.put(None)


class Heartbeat(threading.Thread):
    """Touches a file every half second until it is told to stop."""

    def __init__(self, file: Path) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self.file, self.over = file, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.5):
            self.file.touch()


def write_logs(lines: "queue.Queue[str | None]", file: Path) -> None:
    with file.open("w") as stream:
        while (line := lines.get()) is not None:
            stream.write(line + "\n")
            stream.flush()


def train(fetcher: Fetcher, lines: "queue.Queue[str | None]") -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    while (batch := fetcher.ready.get()) is not None:
        loss = model(batch).square().mean()
        loss.backward()
        lines.put(f"{loss.item():.4f}")
    lines.put(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another rank, other batches and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    batches, seconds = source.randint(20, 80), source.uniform(10.0, 15.0)
    late = source.randrange(batches)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    lines: queue.Queue[str | None] = queue.Queue()
    with tempfile.TemporaryDirectory() as folder:
        fetcher = Fetcher(batches, late if rank == args.seed % size else -1, seconds)
        heartbeat = Heartbeat(Path(folder) / "alive")
        writer = threading.Thread(target=write_logs, args=(lines, Path(folder) / "log"), name="log")
        for thread in (fetcher, heartbeat, writer):
            thread.start()
        train(fetcher, lines)
        writer.join()
        heartbeat.over.set()
        heartbeat.join()
    dist.barrier()
    print(f"rank {rank}: {batches} batches", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
