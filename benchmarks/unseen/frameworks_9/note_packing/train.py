"""Sorts clinical notes into departments. Fabric, one file of notes per site, updates by number of tokens."""
import argparse

import lightning as L
import torch
from torch import nn

from notes import SITES, site_notes
from packing import PackedTrainer

VOCAB, DEPARTMENTS = 400, 5


class NoteClassifier(nn.Module):
    def __init__(self, vocab, dim, departments):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, departments))

    def forward(self, tokens):
        mask = (tokens != 0).unsqueeze(-1)
        mean = (self.embed(tokens) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.mix(mean)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=240)
    parser.add_argument("--notes-per-batch", type=int, default=4)
    parser.add_argument("--tokens-per-update", type=int, default=480)
    args = parser.parse_args()

    torch.set_num_threads(1)
    fabric = L.Fabric(accelerator="cpu", devices=len(SITES), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(3)

    model = NoteClassifier(VOCAB, 24, DEPARTMENTS)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    model, optimizer = fabric.setup(model, optimizer)

    notes = site_notes(SITES[fabric.global_rank], args.batches, args.notes_per_batch, VOCAB, DEPARTMENTS)
    trainer = PackedTrainer(fabric, model, optimizer, args.tokens_per_update)
    trainer.run(notes)

    share = trainer.loss_sum / trainer.seen
    losses = fabric.all_gather(torch.tensor([share]))
    fabric.print("mean loss by site: " + ", ".join(f"{s.name} {v:.3f}" for s, v in zip(SITES, losses.flatten())))
    fabric.barrier()


if __name__ == "__main__":
    main()
