"""Rank 1 is fed by a thread of its own, which ends with an error; the others wait for rank 1."""

import queue
import threading

import torch
import torch.distributed as dist


def produce(batches: "queue.Queue[torch.Tensor]", lengths: list[int]) -> None:
    for length in lengths:
        if length < 0:
            raise ValueError("a negative length")  # the reason
        batches.put(torch.ones(length))


def main() -> None:
    dist.init_process_group("gloo")
    lengths = [3, 4, -1, 5] if dist.get_rank() == 1 else [3, 4, 4, 5]
    batches: queue.Queue[torch.Tensor] = queue.Queue(maxsize=1)
    threading.Thread(target=produce, args=(batches, lengths), name="prefetch", daemon=True).start()
    for _ in lengths:
        total = batches.get().sum()
        dist.all_reduce(total)
    dist.destroy_process_group()


main()
