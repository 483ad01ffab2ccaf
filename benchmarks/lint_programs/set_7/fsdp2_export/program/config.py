from dataclasses import dataclass, fields
import argparse


@dataclass
class Config:
    vocab: int = 32000
    dim: int = 1024
    heads: int = 16
    layers: int = 24
    seq_len: int = 1024
    batch_size: int = 4
    steps: int = 10000
    save_every: int = 1000
    lr: float = 3e-4
    warmup: int = 200
    grad_clip: float = 1.0
    seed: int = 1234
    tokens: str = ""
    out: str = "out"


def from_cli():
    p = argparse.ArgumentParser()
    for f in fields(Config):
        p.add_argument("--" + f.name.replace("_", "-"), type=f.type, default=f.default)
    return Config(**vars(p.parse_args()))
