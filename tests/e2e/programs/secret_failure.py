"""Rank 1 fails with a password in its message, swallows it and waits; arguments and environment hold secrets, too."""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist


def fetch(url: str) -> None:
    raise ConnectionError(f"cannot reach {url}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--api-key")
    parser.add_argument("--url")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    token = os.environ["DATA_TOKEN"]
    number = torch.ones(1)
    for _ in range(3):
        dist.all_reduce(number)
    if dist.get_rank() == 1:
        try:
            fetch(args.url)
        except ConnectionError:
            local = token + "-in-a-local"
            dist.barrier()
            print(len(local))
    dist.all_reduce(number)


if __name__ == "__main__":
    main()
