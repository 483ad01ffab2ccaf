import json
import time
import uuid
from dataclasses import dataclass, field


def make_run_name():
    return f"{time.strftime('%Y%m%d_%H%M%S')}_{uuid.uuid4().hex[:6]}"


@dataclass
class Config:
    work_dir: str = "work_dirs/wafer"
    run_name: str = field(default_factory=make_run_name)
    epochs: int = 3
    batch_size: int = 16
    lr: float = 3e-3
    seed: int = 0
    train_size: int = 512
    val_size: int = 128
    test_size: int = 128

    @classmethod
    def from_file(cls, path, **overrides):
        with open(path) as f:
            values = json.load(f)
        values.update({k: v for k, v in overrides.items() if v is not None})
        return cls(**values)
