import os
import struct
import time

import numpy as np
import torch
from torch.utils.data import Dataset

HEADER = struct.Struct("<4sqq")
MAGIC = b"INT1"


def simulate_clicks(users, items, per_user, seed):
    """User/item pairs from a low-rank taste model, user by user."""
    g = np.random.default_rng(seed)
    u = g.normal(size=(users, 6))
    v = g.normal(size=(items, 6))
    for user in range(users):
        score = u[user] @ v.T + g.gumbel(size=items)
        top = np.argsort(-score)[:per_user]
        yield np.stack([np.full(per_user, user), top], 1).astype(np.int32)


def write_interactions(path, users, items, per_user, seed):
    with open(path, "wb") as f:
        f.write(HEADER.pack(MAGIC, users, items))
        for rows in simulate_clicks(users, items, per_user, seed):
            f.write(rows.tobytes())


def prepare(args, rank):
    """Build the interaction file once per machine, return its path."""
    path = os.path.join(args.cache, f"inter_{args.users}_{args.items}_{args.per_user}_{args.seed}.bin")
    if rank == 0 and not os.path.exists(path):
        os.makedirs(args.cache, exist_ok=True)
        write_interactions(path, args.users, args.items, args.per_user, args.seed)
    while not os.path.exists(path):
        time.sleep(0.2)
    return path


class Interactions(Dataset):
    def __init__(self, path):
        with open(path, "rb") as f:
            magic, self.users, self.items = HEADER.unpack(f.read(HEADER.size))
            assert magic == MAGIC
            rows = np.frombuffer(f.read(), dtype=np.int32).reshape(self.users, -1, 2)
        self.pairs = torch.from_numpy(rows.reshape(-1, 2).astype(np.int64))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]
