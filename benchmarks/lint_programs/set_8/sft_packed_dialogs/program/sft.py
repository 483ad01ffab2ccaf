"""accelerate launch --num_processes 2 sft.py --epochs=1 --seq_len=48"""
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from config import SFTConfig
from packing import VOCAB_SIZE, load_packed


class TinyLM(nn.Module):
    def __init__(self, hidden, layers=2):
        super().__init__()
        self.emb = nn.Embedding(VOCAB_SIZE, hidden)
        self.rnn = nn.GRU(hidden, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, VOCAB_SIZE)

    def forward(self, input_ids, labels):
        logits = self.head(self.rnn(self.emb(input_ids))[0])
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(),
                               ignore_index=-100, reduction="sum")


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.acc = Accelerator(cpu=not torch.cuda.is_available(), gradient_accumulation_steps=cfg.grad_accum)
        set_seed(cfg.seed)
        with self.acc.main_process_first():
            self.data = load_packed(cfg, self.acc)
        model = TinyLM(cfg.hidden)
        opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        loader = DataLoader(self.data, cfg.batch_size, shuffle=True, drop_last=True)
        self.model, self.opt, self.loader = self.acc.prepare(model, opt, loader)
        self.total = cfg.epochs * len(self.loader)
        self.step = 0

    def set_lr(self):
        warm = max(1, int(self.cfg.warmup_ratio * self.total))
        scale = min(1.0, (self.step + 1) / warm) * (1 - self.step / self.total)
        for g in self.opt.param_groups:
            g["lr"] = self.cfg.lr * scale

    def train_step(self, batch):
        with self.acc.accumulate(self.model):
            self.set_lr()
            # one mean over the answer tokens of all processes
            tokens = (batch["labels"][:, 1:] != -100).sum()
            total = self.acc.reduce(tokens.float(), reduction="sum").clamp(min=1)
            loss = self.model(**batch) / total
            self.acc.backward(loss * self.acc.num_processes)
            if self.acc.sync_gradients:
                self.acc.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.opt.zero_grad()
        return loss.detach()

    def fit(self):
        self.model.train()
        for epoch in range(self.cfg.epochs):
            for batch in self.loader:
                loss = self.train_step(batch)
                self.step += 1
                if self.step % self.cfg.log_every == 0:
                    shown = self.acc.reduce(loss, reduction="sum").item()
                    self.acc.print(f"epoch {epoch} step {self.step}/{self.total} loss {shown:.4f}", flush=True)
        self.save()

    def save(self):
        self.acc.wait_for_everyone()
        if self.acc.is_main_process:
            os.makedirs(self.cfg.output_dir, exist_ok=True)
            torch.save(self.acc.unwrap_model(self.model).state_dict(),
                       os.path.join(self.cfg.output_dir, "model.pt"))
        self.acc.end_training()


if __name__ == "__main__":
    Trainer(SFTConfig.from_cli(sys.argv[1:])).fit()
