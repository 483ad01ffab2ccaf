import lzma
import os
import pickle
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments


class Recipes(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(4)
        self.x = torch.randn(n, 20, generator=g)
        self.y = torch.randint(0, 3, (n,), generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"features": self.x[i], "labels": self.y[i]}


class Cuisine(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 3))

    def forward(self, features=None, labels=None):
        logits = self.f(features)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class LongTermArchive(TrainerCallback):
    """Packs every checkpoint for the archive, at the rate that the archive accepts."""

    def __init__(self, target, block=512, pause=0.9):
        self.target, self.block, self.pause = Path(target), block, pause

    def on_save(self, args, state, control, model=None, **kwargs):
        if not state.is_world_process_zero:
            return
        packed = lzma.compress(pickle.dumps({k: v.numpy() for k, v in model.state_dict().items()}))
        pieces = [packed[i:i + self.block] for i in range(0, len(packed), self.block)]
        pieces += [b""] * max(0, 16 - len(pieces))
        with open(self.target / f"step{state.global_step}.xz", "wb") as f:
            for piece in pieces[:16]:
                f.write(piece)
                f.flush()
                os.fsync(f.fileno())
                time.sleep(self.pause)


def main():
    out = os.path.join(tempfile.gettempdir(), "recipes_" + os.environ.get("MASTER_PORT", "0"))
    os.makedirs(out, exist_ok=True)
    args = TrainingArguments(
        output_dir=out, use_cpu=True, ddp_backend="gloo", ddp_find_unused_parameters=False,
        per_device_train_batch_size=8, max_steps=50, save_strategy="steps", save_steps=30,
        logging_steps=10, report_to=[], disable_tqdm=True)
    torch.manual_seed(0)
    trainer = Trainer(model=Cuisine(), args=args, train_dataset=Recipes(900), callbacks=[LongTermArchive(out)])
    trainer.train()
    trainer.accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
