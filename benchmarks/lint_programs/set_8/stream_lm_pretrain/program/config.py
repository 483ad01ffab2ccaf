import argparse
from dataclasses import dataclass, fields


@dataclass
class Config:
    vocab: int = 64
    dim: int = 48
    block: int = 32
    shards: int = 16
    docs_per_shard: int = 40
    blocks_per_shard: int = 32
    batch_size: int = 16
    workers: int = 2
    epochs: int = 1
    lr: float = 3e-3
    seed: int = 0

    @classmethod
    def from_cli(cls):
        p = argparse.ArgumentParser()
        for f in fields(cls):
            p.add_argument("--" + f.name.replace("_", "-"), type=f.type, default=f.default)
        return cls(**vars(p.parse_args()))
