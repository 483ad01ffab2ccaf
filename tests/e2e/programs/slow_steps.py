"""A healthy job whose steps are slow; each rank writes how long each of its steps took."""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist


def main(folder: Path) -> None:
    dist.init_process_group("gloo")
    with (folder / f"{dist.get_rank()}.steps").open("w") as steps:
        while not (folder / "enough").exists():
            began = time.monotonic()
            time.sleep(0.1)
            dist.all_reduce(torch.ones(8))
            print(time.monotonic() - began, file=steps, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
