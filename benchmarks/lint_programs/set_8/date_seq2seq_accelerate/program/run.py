#!/usr/bin/env python
# coding=utf-8
"""Normalise written dates ("3 mar 2017" -> "2017-03-03") with a small seq2seq model.

accelerate launch --num_processes 2 run.py --num_train_epochs 6
"""
import argparse
import datetime
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

logger = get_logger(__name__)
CHARS = "\0\1 abcdefghijklmnopqrstuvwxyz0123456789-,/"
STOI = {c: i for i, c in enumerate(CHARS)}
SRC_LEN, TGT_LEN = 20, 11


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per_device_train_batch_size", type=int, default=16)
    parser.add_argument("--per_device_eval_batch_size", type=int, default=64)
    parser.add_argument("--num_train_epochs", type=int, default=6)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=8e-3)
    parser.add_argument("--num_warmup_steps", type=int, default=10)
    parser.add_argument("--train_size", type=int, default=1536)
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


def write_date(rng, day):
    month = day.strftime("%b").lower()
    return rng.choice([
        f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}",
        f"{day.day:02d}/{day.month:02d}/{day.year}", day.strftime("%d %B %Y").lower(),
    ])


def make_dataset(n, seed):
    rng = random.Random(seed)
    src, tgt = torch.zeros(n, SRC_LEN, dtype=torch.long), torch.zeros(n, TGT_LEN, dtype=torch.long)
    for i in range(n):
        day = datetime.date(1960, 1, 1) + datetime.timedelta(days=rng.randrange(25000))
        s = write_date(rng, day)[:SRC_LEN]
        src[i, :len(s)] = torch.tensor([STOI[c] for c in s])
        tgt[i] = torch.tensor([STOI[c] for c in "\1" + day.isoformat()])
    return TensorDataset(src, tgt)


class DateModel(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(len(CHARS), dim)
        self.pos = nn.Parameter(0.1 * torch.randn(SRC_LEN, dim))
        self.enc = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.key = nn.Linear(2 * dim, dim)
        self.dec = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(3 * dim, len(CHARS))

    def forward(self, src, tgt_in):
        memory, _ = self.enc(self.emb(src) + self.pos)
        h, _ = self.dec(self.emb(tgt_in))
        att = (h @ self.key(memory).transpose(1, 2) / h.shape[-1] ** 0.5).softmax(-1)
        return self.out(torch.cat([h, att @ memory], -1))


def get_linear_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps):
    def f(step):
        if step < num_warmup_steps:
            return step / max(1, num_warmup_steps)
        return max(0.0, (num_training_steps - step) / max(1, num_training_steps - num_warmup_steps))
    return LambdaLR(optimizer, f)


def main():
    args = parse_args()
    accelerator = Accelerator(cpu=not torch.cuda.is_available(),
                              gradient_accumulation_steps=args.gradient_accumulation_steps)
    set_seed(args.seed)

    train_dataloader = DataLoader(make_dataset(args.train_size, 1), shuffle=True,
                                  batch_size=args.per_device_train_batch_size)
    eval_dataloader = DataLoader(make_dataset(300, 2), batch_size=args.per_device_eval_batch_size)
    model = DateModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    model, optimizer, train_dataloader, eval_dataloader = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader)

    updates_per_epoch = math.ceil(len(train_dataloader) / args.gradient_accumulation_steps)
    max_train_steps = args.num_train_epochs * updates_per_epoch
    lr_scheduler = get_linear_schedule_with_warmup(
        optimizer=optimizer,
        num_warmup_steps=args.num_warmup_steps,
        num_training_steps=max_train_steps,
    )
    lr_scheduler = accelerator.prepare(lr_scheduler)

    accelerator.print(f"{len(train_dataloader)} batches per epoch, {max_train_steps} updates")
    for epoch in range(args.num_train_epochs):
        model.train()
        total_loss = torch.zeros((), device=accelerator.device)
        for src, tgt in train_dataloader:
            with accelerator.accumulate(model):
                logits = model(src, tgt[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()
            total_loss += loss.detach()

        model.eval()
        exact, n = 0, 0
        for src, tgt in eval_dataloader:
            with torch.no_grad():
                pred = model(src, tgt[:, :-1]).argmax(-1)
            pred, ref = accelerator.gather_for_metrics((pred, tgt[:, 1:]))
            exact += (pred == ref).all(-1).sum().item()
            n += len(ref)
        train_loss = accelerator.reduce(total_loss, "mean").item() / len(train_dataloader)
        accelerator.print(f"epoch {epoch}: train loss {train_loss:.4f} exact {exact / n:.3f} ({n} dates) "
                          f"lr {lr_scheduler.get_last_lr()[0]:.2e}", flush=True)

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), "/tmp/date_model.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()
