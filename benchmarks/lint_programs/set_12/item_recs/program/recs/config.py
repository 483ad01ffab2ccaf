from dataclasses import dataclass


@dataclass
class RecConfig:
    users: int = 200
    items: int = 60
    events: int = 3000
    width: int = 16
    negatives: int = 8
    batch_size: int = 50
    epochs: int = 5
    lr: float = 0.01
    seed: int = 8
    out: str = "runs/recs"
