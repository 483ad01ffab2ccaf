"""Which phrase did the parrot say, and how high?  Recordings of volunteers, Accelerate on CPU.

    torchrun --nproc-per-node 3 train.py
"""
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from clips import PHRASES, ClipFeed, catalogue

EPOCHS = 2
BATCH = 4


class PhraseNet(nn.Module):
    """Two convolutions over the mel bands, then one head for the phrase and one for the pitch."""

    def __init__(self, bands=16, width=24):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(bands, width, 5, padding=2), nn.GELU(),
            nn.Conv1d(width, width, 5, padding=2), nn.GELU(),
        )
        self.phrase = nn.Linear(width, len(PHRASES))
        self.pitch = nn.Linear(width, 1)

    def forward(self, mel):
        hidden = self.body(mel).mean(-1)
        return self.phrase(hidden), self.pitch(hidden).squeeze(-1)


def main():
    set_seed(5)
    accelerator = Accelerator(cpu=True)
    model = PhraseNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer = accelerator.prepare(model, optimizer)

    # every process reads its own third of the catalogue; the thirds are equally long
    records = catalogue()
    mine = records[accelerator.process_index::accelerator.num_processes]
    mine = mine[: len(records) // accelerator.num_processes]

    ce, huber = nn.CrossEntropyLoss(), nn.HuberLoss()
    for epoch in range(EPOCHS):
        seen, total = 0, 0.0
        for mel, phrase, pitch in ClipFeed(mine, BATCH, seed=epoch):
            scores, height = model(mel)
            loss = ce(scores, phrase) + 0.1 * huber(height, pitch)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            seen += 1
            total += loss.item()
        mean = accelerator.reduce(torch.tensor(total / seen), reduction="mean")
        accelerator.print(f"epoch {epoch}: loss {mean.item():.3f} after {seen} batches")
    accelerator.end_training()


if __name__ == "__main__":
    main()
