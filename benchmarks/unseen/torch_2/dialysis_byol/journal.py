"""Run journal: every rank keeps its own lines, rank 0 writes them in one file when the run closes."""
import json
import pathlib
import tempfile
import time

import torch.distributed as dist


class Journal:
    def __init__(self, name):
        self.path = pathlib.Path(tempfile.gettempdir()) / f"{name}-{int(time.time())}.jsonl"
        self.lines = []

    def __enter__(self):
        return self

    def note(self, **fields):
        self.lines.append({"t": round(time.time(), 2), **fields})

    def __exit__(self, kind, value, tb):
        self.note(closed=True, ok=kind is None)
        everyone = [None] * dist.get_world_size()
        dist.all_gather_object(everyone, self.lines)
        if dist.get_rank() == 0:
            with open(self.path, "w") as f:
                for rank, lines in enumerate(everyone):
                    for line in lines:
                        f.write(json.dumps({"rank": rank, **line}) + "\n")
        return False
