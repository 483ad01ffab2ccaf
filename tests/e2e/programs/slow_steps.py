"""A healthy job whose steps are slow; each rank writes how long each of its steps took.

slow_steps.py FOLDER [SECONDS]: until FOLDER/enough exists.
"""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist


def main(folder: Path, seconds: float) -> None:
    dist.init_process_group("gloo")
    with (folder / f"{dist.get_rank()}.steps").open("w") as steps:
        enough = torch.zeros(1)
        while not enough:  # all ranks leave after the same step
            began = time.monotonic()
            time.sleep(seconds)
            enough.fill_((folder / "enough").exists())
            dist.all_reduce(enough)
            print(time.monotonic() - began, file=steps, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float([*sys.argv[2:], "0.1"][0]))
