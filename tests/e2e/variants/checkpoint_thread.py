"""Checkpoints are agreed on in a background thread, on the same group on which the main thread synchronizes."""

import threading
import time

import torch.distributed as dist


class Checkpointer:
    """Tells the ranks of each other's parts while training goes on."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None

    def exchange(self) -> None:
        parts: list[str] = [""] * dist.get_world_size()
        dist.all_gather_object(parts, f"part of rank {dist.get_rank()}")

    def start(self, delay: float) -> None:
        def run() -> None:
            time.sleep(delay)
            self.exchange()

        self.thread = threading.Thread(target=run, name="checkpoint")
        self.thread.start()

    def finish(self) -> None:
        if self.thread is not None:
            self.thread.join()


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    checkpointer = Checkpointer()
    dist.barrier()
    checkpointer.start(delay=0.0 if rank == 0 else 1.0)
    time.sleep(0.5)
    dist.barrier()
    checkpointer.finish()
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
