#!/usr/bin/env python3
"""Keyword spotting on Speech Commands v2 (35 words), multi-node DDP."""
import argparse
import os
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset
import torchaudio


def get_args(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="speech_commands_v0.02, on storage all nodes see")
    parser.add_argument("--exp", type=Path, default=Path("exp/kws"))
    parser.add_argument("--num-epochs", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=128, help="per process")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--num-workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=17)
    return parser.parse_args(argv)


def setup():
    dist.init_process_group(backend="nccl", timeout=timedelta(minutes=15))
    rank = dist.get_rank()
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    return rank, dist.get_world_size(), device


def info(rank, text):
    if rank == 0:
        print(text, file=sys.stderr, flush=True)


class SpeechCommands(Dataset):
    def __init__(self, root, part):
        held = {name: set((root / f"{name}_list.txt").read_text().split()) for name in ("validation", "testing")}
        self.words = sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith("_"))
        names = sorted(f"{p.parent.name}/{p.name}" for w in self.words for p in (root / w).glob("*.wav"))
        if part == "train":
            self.names = [n for n in names if n not in held["validation"] and n not in held["testing"]]
        else:
            self.names = [n for n in names if n in held[part]]
        self.root = root
        self.index = {w: i for i, w in enumerate(self.words)}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        wav, _ = torchaudio.load(str(self.root / name))
        wav = nn.functional.pad(wav[0, :16000], (0, max(0, 16000 - wav.size(1))))
        return wav, self.index[name.split("/")[0]]


class KeywordNet(nn.Module):
    def __init__(self, num_words, width=96):
        super().__init__()
        self.frontend = torchaudio.transforms.MelSpectrogram(16000, n_fft=480, hop_length=160, n_mels=64)
        layers, cin = [], 64
        for i in range(5):
            layers += [nn.Conv1d(cin, width, 5, stride=1 + i % 2, padding=2), nn.BatchNorm1d(width), nn.GELU()]
            cin = width
        self.body = nn.Sequential(*layers)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, num_words)

    def forward(self, wav):
        feat = (self.frontend(wav) + 1e-6).log()
        h, _ = self.rnn(self.body(feat).transpose(1, 2))
        return self.out(h.mean(1))


def run_epoch(model, loader, opt, sched, device):
    model.train()
    stats = torch.zeros(2, device=device)
    for wav, word in loader:
        wav, word = wav.to(device, non_blocking=True), word.to(device, non_blocking=True)
        loss = nn.functional.cross_entropy(model(wav), word)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        sched.step()
        stats += torch.stack([loss.detach() * len(word), torch.tensor(float(len(word)), device=device)])
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


@torch.inference_mode()
def error_rate(net, loader, device):
    net.eval()
    count = torch.zeros(2, dtype=torch.long, device=device)
    for wav, word in loader:
        wrong = net(wav.to(device)).argmax(-1) != word.to(device)
        count[0] += wrong.sum()
        count[1] += len(word)
    dist.all_reduce(count)
    return count[0].item() / count[1].item()


def main(argv=None):
    args = get_args(argv)
    rank, world, device = setup()
    torch.manual_seed(args.seed + rank)
    args.exp.mkdir(parents=True, exist_ok=True)

    train_set = SpeechCommands(args.root, "train")
    sampler = DistributedSampler(train_set, world, rank, seed=args.seed)
    train_loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True,
                              num_workers=args.num_workers, pin_memory=True)
    valid_set = SpeechCommands(args.root, "validation")
    valid_loader = DataLoader(Subset(valid_set, range(rank, len(valid_set), world)), 256,
                              num_workers=args.num_workers)

    net = KeywordNet(len(train_set.words)).to(device)
    model = DDP(net, device_ids=[device.index])
    opt = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.learning_rate,
                                                total_steps=args.num_epochs * len(train_loader))
    info(rank, f"{os.uname().nodename}: {world} processes, {len(train_set)} train / {len(valid_set)} valid utterances")

    lowest = 1.0
    for epoch in range(1, args.num_epochs + 1):
        sampler.set_epoch(epoch)
        loss = run_epoch(model, train_loader, opt, sched, device)
        err = error_rate(net, valid_loader, device)
        info(rank, f"epoch {epoch:3d}  train loss {loss:.4f}  valid error {100 * err:.2f}%")
        if err < lowest:
            lowest = err
            if rank == 0:
                torch.save({"net": net.state_dict(), "words": train_set.words}, args.exp / "best.pt")

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
