import argparse
import secrets
import time
from dataclasses import dataclass, field, fields
from pathlib import Path


def new_run_name():
    return time.strftime("%m%d-%H%M%S") + "-" + secrets.token_hex(2)


@dataclass
class Settings:
    root: str = "runs"
    epochs: int = 30
    states: int = 4096
    grid: int = 16
    batch_size: int = 16
    lr: float = 1e-3
    rollout: int = 12
    seed: int = 2
    run_name: str = field(default_factory=new_run_name)

    @property
    def run_dir(self):
        return Path(self.root) / self.run_name

    @classmethod
    def from_args(cls):
        ap = argparse.ArgumentParser()
        for f in fields(cls):
            kind = {"str": str, "int": int, "float": float}.get(f.type, f.type)
            ap.add_argument("--" + f.name.replace("_", "-"), type=kind, default=None)
        given = {k: v for k, v in vars(ap.parse_args()).items() if v is not None}
        return cls(**given)
