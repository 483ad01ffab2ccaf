from dataclasses import dataclass


@dataclass
class Config:
    vocab: int = 128
    dim: int = 64
    hidden: int = 192
    layers: int = 2
    seq: int = 32
    batch_size: int = 8
    samples: int = 1024
    epochs: int = 2
    lr: float = 2e-3
    seed: int = 99
    tp: int = 2
    log_every: int = 10


PRESETS = {
    "debug": Config(),
    "base": Config(dim=512, hidden=1536, layers=8, batch_size=16, tp=4, lr=6e-4, samples=200_000),
}
