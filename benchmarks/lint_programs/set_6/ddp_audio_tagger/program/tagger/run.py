import dataclasses
import json
import time
import uuid
from pathlib import Path

import torch
import torch.distributed as dist


@dataclasses.dataclass
class Config:
    name: str = "cnn6"
    root: str = "experiments"
    epochs: int = 5
    batch_size: int = 32
    train_clips: int = 1024
    eval_clips: int = 256
    lr: float = 1e-3
    seed: int = 7


class Run:
    """Directory of one experiment: its config, metrics and checkpoints."""

    def __init__(self, cfg):
        self.cfg = cfg
        self.rank = dist.get_rank()
        self.run_id = f"{time.strftime('%m%d-%H%M')}-{uuid.uuid4().hex[:6]}"
        self.dir = Path(cfg.root) / cfg.name / self.run_id
        if self.rank == 0:
            self.dir.mkdir(parents=True)
            self.dir.joinpath("config.json").write_text(json.dumps(dataclasses.asdict(cfg)))
        dist.barrier()

    @property
    def best_path(self):
        return self.dir / "best.pt"

    def log(self, **metrics):
        if self.rank == 0:
            with open(self.dir / "metrics.jsonl", "a") as f:
                f.write(json.dumps(metrics) + "\n")
            print(" ".join(f"{k}={v}" for k, v in metrics.items()), flush=True)

    def save_best(self, model, epoch):
        if self.rank == 0:
            tmp = self.best_path.with_suffix(".tmp")
            torch.save({"model": model.state_dict(), "epoch": epoch}, tmp)
            tmp.rename(self.best_path)

    def load_best(self, model, device):
        dist.barrier()
        ckpt = torch.load(self.best_path, map_location=device)
        model.load_state_dict(ckpt["model"])
        return ckpt["epoch"]
