"""Scores documents of a crawl in shards; statistics are kept over all shards, batch by batch."""

import time

import torch
import torch.distributed as dist

WIDTH = 32


def shard(rank, batches):
    g = torch.Generator().manual_seed(7 * rank + 1)
    for b in range(batches):
        rows = 0 if rank == 6 and b == 240 else 12
        yield torch.rand(rows, WIDTH, generator=g)


class Statistics:
    """Running count, sum and sum of squares of the scores of all shards."""

    def __init__(self):
        self.total = torch.zeros(3, dtype=torch.float64)

    def add(self, scores):
        if scores.numel() == 0:
            return
        part = torch.tensor([scores.numel(), scores.sum().item(), scores.square().sum().item()], dtype=torch.float64)
        dist.all_reduce(part)
        self.total += part

    @property
    def mean(self):
        return (self.total[1] / self.total[0]).item()


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    scorer = torch.nn.Sequential(torch.nn.Linear(WIDTH, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1), torch.nn.Sigmoid())
    statistics = Statistics()
    kept = 0
    for documents in shard(dist.get_rank(), 900):
        time.sleep(0.025)  # tokenizing
        scores = scorer(documents).squeeze(1)
        statistics.add(scores)
        kept += int((scores > 0.5).sum())
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, kept)
    if dist.get_rank() == 0:
        print(f"kept {counts}, mean {statistics.mean:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
