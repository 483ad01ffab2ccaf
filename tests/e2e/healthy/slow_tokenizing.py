"""Rank 1 tokenizes its shard for half a minute; the others wait for it in a barrier."""

import argparse
import itertools
import random
import time
from collections import Counter

import torch
import torch.distributed as dist


def merge_pairs(word: list[str], pair: tuple[str, str]) -> list[str]:
    merged: list[str] = []
    for symbol in word:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def learn_merges(text: str, seconds: float) -> int:
    """Byte pair encoding, the slow way, for a given time."""
    words = [list(word) for word in text.split()]
    until = time.monotonic() + seconds
    merges = 0
    while time.monotonic() < until:
        counts: Counter[tuple[str, str]] = Counter()
        for word in words:
            counts.update(itertools.pairwise(word))
        if not counts:
            words = [list(word) for word in text.split()]
            continue
        pair = max(counts, key=lambda candidate: (counts[candidate], candidate))
        words = [merge_pairs(word, pair) for word in words]
        merges += 1
    return merges


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=28.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(8.0, 11.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    text = "a reader of many words reads what many writers wrote and writes what readers read " * 200
    merges = learn_merges(text, args.seconds) if rank == 1 else 0
    dist.barrier()
    total = torch.tensor([merges])
    dist.all_reduce(total)
    print(f"rank {rank}: {'some' if total.item() else 'no'} merges", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
