import os
import re

import torch

PATTERN = re.compile(r"snap-(\d+)\.pt$")


def latest(folder):
    """Path of the snapshot with the highest step, or None."""
    if not os.path.isdir(folder):
        return None
    found = [(int(m.group(1)), name) for name in os.listdir(folder) if (m := PATTERN.match(name))]
    return os.path.join(folder, max(found)[1]) if found else None


def write(folder, step, payload):
    os.makedirs(folder, exist_ok=True)
    final = os.path.join(folder, f"snap-{step}.pt")
    torch.save(payload, final + ".tmp")
    os.replace(final + ".tmp", final)


def read(path, map_location=None):
    return torch.load(path, map_location=map_location, weights_only=True)
