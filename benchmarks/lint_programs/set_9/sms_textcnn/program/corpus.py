import csv
import hashlib
import os
import random
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import TensorDataset

SEQ_LEN = 24
VOCAB = 4096


def read_rows(corpus):
    if corpus:
        with open(corpus, newline="") as f:
            return [(int(label), text) for label, text in csv.reader(f, delimiter="\t")]
    rng = random.Random(0)
    words = [f"w{i}" for i in range(300)]
    rows = []
    for _ in range(640):
        label = rng.randint(0, 1)
        pool = words[:200] if label else words[100:]
        rows.append((label, " ".join(rng.choices(pool, k=rng.randint(4, 20)))))
    return rows


def token_id(word):
    digest = hashlib.blake2s(word.lower().encode(), digest_size=4).digest()
    return 1 + int.from_bytes(digest, "little") % (VOCAB - 1)


def encode(rows):
    ids = torch.zeros(len(rows), SEQ_LEN, dtype=torch.long)
    labels = torch.tensor([label for label, _ in rows], dtype=torch.long)
    for i, (_, text) in enumerate(rows):
        row = [token_id(w) for w in text.split()][:SEQ_LEN]
        ids[i, : len(row)] = torch.tensor(row, dtype=torch.long)
    return ids, labels


def load_corpus(corpus, cache_dir, local_rank):
    """Encoded corpus from the node-local cache, built by one process per node."""
    key = hashlib.sha1(f"{corpus}|{SEQ_LEN}|{VOCAB}".encode()).hexdigest()[:12]
    path = Path(cache_dir) / f"encoded-{key}.pt"
    if not path.exists():
        if local_rank == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
            ids, labels = encode(read_rows(corpus))
            tmp = path.with_suffix(".tmp")
            torch.save({"ids": ids, "labels": labels}, tmp)
            os.replace(tmp, path)
        dist.barrier()
    blob = torch.load(path, weights_only=True)
    return TensorDataset(blob["ids"], blob["labels"])
