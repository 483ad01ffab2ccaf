import logging
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

from kernels import KernelCache

logging.basicConfig(level=logging.INFO)


class Reads(Dataset):
    """Simulated nanopore reads: signal windows and the base in the middle."""

    def __init__(self, n=2000, width=40):
        g = torch.Generator().manual_seed(42)
        self.signal = torch.randn(n, width, generator=g)
        self.base = (self.signal[:, width // 2] * 2).long().clamp(0, 3)

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        time.sleep(0.003)
        return {"signal": self.signal[i], "labels": self.base[i]}


class Caller(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.conv = nn.Conv1d(1, hidden, 7, padding=3)
        self.head = nn.Linear(hidden, 4)

    def forward(self, signal, labels):
        h = torch.relu(self.conv(signal[:, None])).mean(-1)
        logits = self.head(h)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class EditCostProbe(TrainerCallback):
    """Every `period` steps one process scores a few reads with the native edit cost."""

    def __init__(self, period=30, probe_rank=1):
        self.period, self.probe_rank = period, probe_rank
        self.cache = KernelCache()

    def on_step_end(self, args, state, control, model=None, **kw):
        if args.process_index != self.probe_rank or state.global_step % self.period:
            return
        path = self.cache.get("editcost")
        logging.info("step %d: scored with %s", state.global_step, path)


def training_args(**over):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="caller_"), use_cpu=True, per_device_train_batch_size=8, max_steps=80,
        logging_steps=20, save_strategy="no", report_to=[], disable_tqdm=True, dataloader_pin_memory=False,
        ddp_find_unused_parameters=False,
    )
    return TrainingArguments(**{**base, **over})


if __name__ == "__main__":
    trainer = Trainer(model=Caller(), args=training_args(), train_dataset=Reads())
    trainer.add_callback(EditCostProbe())
    trainer.train()
