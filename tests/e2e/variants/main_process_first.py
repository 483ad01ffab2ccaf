"""A cache that the first rank builds before the others look: with a barrier of its own between the two halves."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.distributed as dist


@contextlib.contextmanager
def main_process_first() -> Iterator[None]:
    is_main = dist.get_rank() == 0
    try:
        if not is_main:
            dist.barrier()
        yield
    finally:
        if is_main:
            dist.barrier()


def vocabulary(path: Path) -> list[str]:
    with main_process_first():
        if not path.exists():
            path.write_text("a b c", encoding="utf-8")
            dist.barrier()  # so that all see the file
        return path.read_text(encoding="utf-8").split()


def main() -> None:
    dist.init_process_group("gloo")
    words = vocabulary(Path(tempfile.gettempdir()) / f"vocabulary-{os.getppid()}.txt")
    for _ in range(4):
        count = torch.tensor([len(words)])
        dist.all_reduce(count)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
