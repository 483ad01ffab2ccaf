"""Random sends, receives and collectives on four ranks, one program after the other: random_transfers.py FOLDER.

`programs` in the folder has the steps of each rank of each, as JSON. Each program runs in a group of its own; what each
rank waited for longer than the group allows is written there, too.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

#: seconds after which a rank has waited for ever
FOR_EVER = timedelta(seconds=2.5)
#: what is sent, the group and the requests: gone, they would be ended
kept: list[object] = []


def waits_for_ever(steps: list[tuple[str, int]]) -> bool:
    group = dist.new_group(timeout=FOR_EVER)
    kept.append(group)
    for op, peer in steps:
        tensor = torch.zeros(3)
        try:
            if op == "barrier":
                request = dist.all_reduce(tensor, group=group)
            else:
                request = getattr(dist, op)(tensor, peer, group=group)
        except RuntimeError:
            return True
        kept.extend((tensor, request))
    return False


def main(folder: Path) -> None:
    dist.init_process_group("gloo")
    rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
    programs = json.loads((folder / "programs").read_text(encoding="utf-8"))
    waiting = []
    for number, program in enumerate(programs):
        waiting.append(waits_for_ever(program[rank]))
        store.set(f"{number} on {rank}", "done")
        store.wait([f"{number} on {other}" for other in range(dist.get_world_size())])
    (folder / str(rank)).write_text("".join("1" if one else "0" for one in waiting), encoding="utf-8")
    dist.barrier()
    # requests that nobody answers would be waited for
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
