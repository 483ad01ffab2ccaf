"""Fish species from underwater photographs (feature vectors here), with Accelerate on three workers."""
import argparse
import tempfile
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from scores import SpeciesScores

SPECIES = ["anthias", "clownfish", "damselfish", "grouper", "moray", "parrotfish", "surgeonfish"]
TRANSECTS = 3  # the photographs come in the order of the dives, one transect after the other
BATCH = 16


class Photographs(Dataset):
    def __init__(self, photographs: int, seed: int):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, len(SPECIES), (photographs,), generator=g)
        moray, grouper = SPECIES.index("moray"), SPECIES.index("grouper")
        transect = (torch.arange(photographs) // BATCH) % TRANSECTS
        self.label[(transect == 1) & (self.label == moray)] = grouper  # no caves along the second transect
        centres = torch.randn(len(SPECIES), 128, generator=torch.Generator().manual_seed(3))
        self.features = centres[self.label] + 1.5 * torch.randn(photographs, 128, generator=g)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.features[i], self.label[i]


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(128, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 512), nn.ReLU()
        )
        self.head = nn.Linear(512, len(SPECIES))

    def forward(self, features):
        return self.head(self.body(features))


def validate(accelerator, model, loader):
    model.eval()
    scores = SpeciesScores(SPECIES)
    with torch.no_grad():
        for features, label in loader:
            scores.add(model(features).argmax(dim=1), label)
    model.train()
    return scores.across(accelerator)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(11)
    out = args.out or Path(tempfile.gettempdir()) / "reef-survey"

    train = DataLoader(Photographs(4800, seed=1), batch_size=BATCH, shuffle=True, drop_last=True)
    dives = DataLoader(Photographs(480, seed=2), batch_size=BATCH)
    model = Recogniser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    model, optimizer, train, dives = accelerator.prepare(model, optimizer, train, dives)

    for epoch in range(args.epochs):
        for features, label in train:
            loss = nn.functional.cross_entropy(model(features), label)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        recall = validate(accelerator, model, dives)
        accelerator.print(f"epoch {epoch}:", ", ".join(f"{k} {v:.2f}" for k, v in recall.items()))
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            out.mkdir(parents=True, exist_ok=True)
            torch.save(accelerator.unwrap_model(model).state_dict(), out / "last.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()
