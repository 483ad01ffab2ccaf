import csv
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import TensorDataset


def _encode(values):
    vocab = {}
    ids = [vocab.setdefault(v, len(vocab)) for v in values]
    return torch.tensor(ids), len(vocab)


def build_cache(log_csv, cache):
    """clicks.csv (user, item, hour, clicked) -> integer ids in one .pt file."""
    with open(log_csv, newline="") as f:
        rows = list(csv.DictReader(f))
    users, n_users = _encode([r["user"] for r in rows])
    items, n_items = _encode([r["item"] for r in rows])
    blob = {
        "users": users, "items": items,
        "hours": torch.tensor([int(r["hour"]) for r in rows]),
        "clicked": torch.tensor([float(r["clicked"]) for r in rows]),
        "n_users": n_users, "n_items": n_items,
    }
    tmp = cache.with_suffix(".tmp")
    torch.save(blob, tmp)
    os.replace(tmp, cache)


def load_clicks(root):
    root = Path(root)
    cache = root / "clicks.pt"
    if not cache.exists():
        if dist.get_rank() == 0:
            print(f"encoding {root / 'clicks.csv'}", flush=True)
            build_cache(root / "clicks.csv", cache)
        dist.barrier()
    blob = torch.load(cache, map_location="cpu")
    data = TensorDataset(blob["users"], blob["items"], blob["hours"], blob["clicked"])
    return data, blob["n_users"], blob["n_items"]
