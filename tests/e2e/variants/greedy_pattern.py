"""Cleans text with a regular expression that takes for ever on one rank's text: no line of Python moves meanwhile."""

import re
import time

import torch
import torch.distributed as dist

TITLE = re.compile(r"^(\w+\s?)*$")


def is_title(text: str) -> bool:
    return TITLE.match(text) is not None


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    text = "a heading of words" if rank != 1 else "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww!"
    titles = torch.tensor([int(is_title(text))])
    dist.all_reduce(titles)
    print(f"rank {rank}: {titles.item()} titles", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
