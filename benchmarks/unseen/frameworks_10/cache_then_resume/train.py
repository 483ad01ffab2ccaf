"""Urgency of maintenance notes with Accelerate: the notes are encoded by the main process first, and half of the run
is a resumed one."""
import sys
import tempfile
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, broadcast_object_list
from torch import nn
from torch.utils.data import DataLoader

from corpus import WORDS, Notes, encode_notes, write_notes

EPOCHS = 4


class NoteNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.EmbeddingBag(len(WORDS) + 1, width, padding_idx=0)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 2))

    def forward(self, rows):
        return self.head(self.embed(rows))


def shared_folder(accelerator):
    names = [tempfile.mkdtemp(prefix="notes-") if accelerator.is_main_process else None]
    return Path(broadcast_object_list(names)[0])


def train_epoch(accelerator, model, optimizer, loader, skip=0):
    batches = accelerator.skip_first_batches(loader, skip) if skip else loader
    for number, (rows, labels) in enumerate(batches, start=skip):
        loss = nn.functional.cross_entropy(model(rows), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        yield number, loss.item()


def main():
    torch.manual_seed(9)
    accelerator = Accelerator(cpu=True)
    folder = shared_folder(accelerator)
    accelerator.project_configuration = ProjectConfiguration(project_dir=str(folder))
    source, cache = folder / "notes.jsonl", folder / "notes.pt"
    with accelerator.main_process_first():
        if accelerator.is_main_process:
            write_notes(source, 1600)
        encode_notes(source, cache)

    loader = DataLoader(Notes(cache), batch_size=20, shuffle=True, num_workers=2, multiprocessing_context="fork")
    model = NoteNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    for epoch in range(EPOCHS):
        for number, loss in train_epoch(accelerator, model, optimizer, loader):
            if epoch == 1 and number == len(loader) // 2:
                accelerator.save_state(str(folder / "half"))
        accelerator.print(f"epoch {epoch}: loss {loss:.3f}")

    accelerator.load_state(str(folder / "half"))
    for number, loss in train_epoch(accelerator, model, optimizer, loader, skip=len(loader) // 2):
        pass
    losses = accelerator.gather(torch.tensor([loss]))
    accelerator.print(f"resumed run: loss {losses.mean():.3f}", file=sys.stderr)
    accelerator.end_training()


if __name__ == "__main__":
    main()
