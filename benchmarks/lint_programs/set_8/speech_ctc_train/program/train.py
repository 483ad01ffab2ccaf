#!/usr/bin/env python
"""Small CTC acoustic model.

    torchrun --nproc_per_node 4 train.py --epochs 20
"""
import argparse
import logging
import os
import random
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

log = logging.getLogger("ctc")
N_MELS = 40
VOCAB = "_abcdefghijklmnopqrstuvwxyz' "


class SpokenDigitsLike(Dataset):
    """Random filterbanks with a transcript whose letters shape the frames."""

    def __init__(self, n, seed):
        g = np.random.default_rng(seed)
        self.proto = g.normal(size=(len(VOCAB), N_MELS)).astype(np.float32)
        self.items = []
        for _ in range(n):
            length = int(g.integers(4, 12))
            text = g.integers(1, len(VOCAB), size=length)
            rate = float(np.clip(g.normal(12.0, 3.2), 3.0, 20.0))
            self.items.append((text, rate, int(g.integers(1 << 30))))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        text, rate, seed = self.items[i]
        g = np.random.default_rng(seed)
        n_frames = max(8, int(len(text) * rate))
        which = np.minimum((np.arange(n_frames) / rate).astype(int), len(text) - 1)
        feats = self.proto[text[which]] + g.normal(scale=0.3, size=(n_frames, N_MELS))
        return torch.tensor(feats, dtype=torch.float32), torch.tensor(text, dtype=torch.long)


def collate(batch):
    feats, texts = zip(*batch)
    feat_lens = torch.tensor([f.shape[0] for f in feats])
    text_lens = torch.tensor([t.shape[0] for t in texts])
    feats = nn.utils.rnn.pad_sequence(feats, batch_first=True)
    texts = nn.utils.rnn.pad_sequence(texts, batch_first=True)
    return feats, feat_lens, texts, text_lens


class AcousticModel(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.front = nn.Sequential(
            nn.Conv1d(N_MELS, hidden, 5, stride=2, padding=2),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Conv1d(hidden, hidden, 5, stride=2, padding=2),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
        )
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, len(VOCAB))

    def forward(self, feats, lens):
        x = self.front(feats.transpose(1, 2)).transpose(1, 2)
        lens = torch.div(lens + 3, 4, rounding_mode="floor")
        x, _ = self.rnn(x)
        return F.log_softmax(self.out(x), dim=-1), lens


def train_epoch(model, loader, criterion, optimizer, scheduler, args, epoch, device):
    model.train()
    running, seen, t0 = 0.0, 0, time.time()
    for step, (feats, feat_lens, texts, text_lens) in enumerate(loader):
        log_probs, out_lens = model(feats.to(device), feat_lens)
        loss = criterion(log_probs.transpose(0, 1), texts.to(device), out_lens, text_lens)

        if not torch.isfinite(loss):
            log.warning("epoch %d step %d: loss is %s, batch skipped", epoch, step, loss.item())
            optimizer.zero_grad()
            continue

        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        scheduler.step()

        running += loss.item() * len(feats)
        seen += len(feats)
        if step % args.log_every == 0 and dist.get_rank() == 0:
            log.info("epoch %d step %d loss %.3f (%.1fs)", epoch, step, loss.item(), time.time() - t0)
    return running, seen


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--utterances", type=int, default=384)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()

    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[{rank}] %(message)s")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if use_cuda else torch.device("cpu")
    random.seed(args.seed + rank)
    torch.manual_seed(args.seed)

    dataset = SpokenDigitsLike(args.utterances, seed=args.seed)
    sampler = DistributedSampler(dataset, shuffle=True, seed=args.seed)
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, collate_fn=collate, drop_last=True)

    model = DDP(AcousticModel().to(device), device_ids=[device.index] if use_cuda else None)
    criterion = nn.CTCLoss(blank=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=args.epochs * len(loader) + 1)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total, seen = train_epoch(model, loader, criterion, optimizer, scheduler, args, epoch, device)
        stats = torch.tensor([total, float(seen)], device=device)
        dist.all_reduce(stats)
        if rank == 0:
            log.info("== epoch %d mean loss %.3f over %d utterances", epoch, stats[0] / stats[1], int(stats[1]))
            torch.save(model.module.state_dict(), "/tmp/ctc_last.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
