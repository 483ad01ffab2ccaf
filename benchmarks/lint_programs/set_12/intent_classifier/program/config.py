import argparse
from dataclasses import dataclass, fields


@dataclass
class Config:
    vocab: int = 4000
    n_intents: int = 24
    max_len: int = 32
    width: int = 128
    layers: int = 2
    batch_size: int = 32          # of each process
    accumulation: int = 2
    epochs: int = 6
    lr: float = 5e-4
    warmup_ratio: float = 0.1
    clip: float = 1.0
    seed: int = 3
    out: str = "runs/intent"

    @classmethod
    def from_cli(cls):
        parser = argparse.ArgumentParser()
        for f in fields(cls):
            parser.add_argument("--" + f.name.replace("_", "-"), type=type(f.default), default=f.default)
        return cls(**vars(parser.parse_args()))
