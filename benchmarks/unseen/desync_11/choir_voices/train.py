"""Intonation of choirs, with a network for the high and one for the low voices."""

import argparse

import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader

from learning import Voice, learn
from scores import BASS, FEATURES, SOPRANO, Bars


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bars", type=int, default=700)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--choirs", type=int, default=3)
    return parser.parse_args()


def rehearse(fabric, voices, loader):
    for number, (notes, voice, cents) in enumerate(loader):
        for which, singer in voices.items():
            mine = voice == which
            learn(fabric, singer, notes[mine], cents[mine])
        if number % 100 == 0:
            means = ", ".join(f"{singer.name} {singer.mean():.3f}" for singer in voices.values())
            fabric.print(f"bar {number}: {means}", flush=True)


def main():
    args = parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=args.choirs, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(5, verbose=False)
    voices = {
        SOPRANO: Voice.create("high", fabric, FEATURES, args.lr),
        BASS: Voice.create("low", fabric, FEATURES, args.lr),
    }
    loader = DataLoader(Bars(fabric.global_rank, args.bars), batch_size=None, shuffle=False)
    rehearse(fabric, voices, loader)
    result = torch.tensor([singer.mean() for singer in voices.values()])
    everyone = fabric.all_gather(result)
    fabric.print("after the rehearsal:", everyone.tolist())
    fabric.barrier()


if __name__ == "__main__":
    main()
