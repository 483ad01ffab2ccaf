import argparse
from dataclasses import dataclass, field
from typing import List


@dataclass
class Options:
    train_dir: List[str] = field(default_factory=list)
    valid_dir: str = ""
    out: str = "model.pt"
    fields: int = 26
    dense: int = 13
    buckets: int = 200_000
    dim: int = 16
    batch_size: int = 4096
    passes: int = 2
    lr: float = 1e-3
    seed: int = 5


def parse() -> Options:
    p = argparse.ArgumentParser()
    p.add_argument("--train-dir", nargs="+", required=True)
    p.add_argument("--valid-dir", required=True)
    for name in ("out", "fields", "dense", "buckets", "dim", "batch_size", "passes", "lr", "seed"):
        default = getattr(Options, name)
        p.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return Options(**vars(p.parse_args()))
