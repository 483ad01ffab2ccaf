"""An export of a sharded model by rank 0, checked by a process of its own before the others go on."""

import json
import pathlib
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

CHECK = """
import json, sys, time
time.sleep(2)
rows = json.load(open(sys.argv[1]))
for name, size in rows.items():
    print(name, size)
"""


class SlowFolder:
    """A share on the network: the first attempts of a day fail, and a write takes its time."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.attempts = 0

    def write(self, name, tensor):
        self.attempts += 1
        if self.attempts in (2, 3):
            raise OSError(5, "Input/output error", name)
        time.sleep(0.4)
        torch.save(tensor, self.path / f"{name}.pt")


def patiently(action, *arguments, attempts=5):
    for attempt in range(attempts):
        try:
            return action(*arguments)
        except OSError as error:
            print(f"{error}; again in {1 + attempt} s", flush=True)
            time.sleep(1 + attempt)
    raise RuntimeError("gave up")


def export(model, folder):
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        share = SlowFolder(folder)
        for name, tensor in state.items():
            patiently(share.write, name, tensor)
        listing = share.path / "sizes.json"
        listing.write_text(json.dumps({name: list(tensor.shape) for name, tensor in state.items()}))
        done = subprocess.run([sys.executable, "-c", CHECK, str(listing)], capture_output=True, text=True, check=True)
        print(f"{len(done.stdout.splitlines())} tensors checked", flush=True)
    dist.barrier()
