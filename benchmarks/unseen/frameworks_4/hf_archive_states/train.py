"""Adapter tuning of a toy decoder; every checkpoint is copied to the (slow) tape gateway by the first process."""
import os
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import IterableDataset
from transformers import Trainer, TrainerCallback, TrainingArguments

V = 64


class Dialogue(IterableDataset):
    def __iter__(self):
        g = torch.Generator().manual_seed(99)
        while True:
            ids = torch.randint(0, V, (20,), generator=g)
            yield {"ids": ids, "labels": ids.roll(-1)}


class LoraLinear(nn.Module):
    def __init__(self, d_in, d_out, r=4):
        super().__init__()
        self.base = nn.Linear(d_in, d_out)
        self.base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(r, d_in) * 0.02)
        self.b = nn.Parameter(torch.zeros(d_out, r))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


class ToyDecoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.up, self.down = LoraLinear(d, 2 * d), LoraLinear(2 * d, d)
        self.out = nn.Linear(d, V)

    def forward(self, ids, labels):
        h = self.emb(ids)
        h = h + self.down(torch.relu(self.up(h)))
        logits = self.out(h)
        return {"loss": nn.functional.cross_entropy(logits.view(-1, V), labels.view(-1)), "logits": logits}


class TapeGateway(TrainerCallback):
    def __init__(self, block=1024, rate=4.0):
        self.target = Path(tempfile.mkdtemp(prefix="tape_"))
        self.block, self.pause = block, 1.0 / rate

    def on_save(self, args, state, control, **kw):
        if not state.is_world_process_zero:
            return
        src = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        t0 = time.time()
        for f in sorted(p for p in src.iterdir() if p.suffix == ".safetensors"):
            with f.open("rb") as r, (self.target / f"{state.global_step}-{f.name}").open("wb") as w:
                while chunk := r.read(self.block):
                    w.write(chunk)
                    w.flush()
                    os.fsync(w.fileno())
                    time.sleep(self.pause)
        print(f"archived {src.name} in {time.time() - t0:.1f}s", flush=True)


def main():
    out = tempfile.mkdtemp(prefix="lora_")
    args = TrainingArguments(
        output_dir=out, use_cpu=True, per_device_train_batch_size=4, max_steps=40, logging_steps=10,
        save_steps=20, save_total_limit=1, report_to=[], disable_tqdm=True, dataloader_pin_memory=False,
        accelerator_config={"dispatch_batches": False},
    )
    trainer = Trainer(model=ToyDecoder(), args=args, train_dataset=Dialogue(), callbacks=[TapeGateway()])
    trainer.train()


if __name__ == "__main__":
    main()
