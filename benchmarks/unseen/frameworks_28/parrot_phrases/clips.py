"""The catalogue of recordings, and a feed that prepares batches ahead of the training."""
import queue
import random
import threading
import time

import torch

PHRASES = ["hello", "pretty boy", "good night", "kettle", "who is it"]


def catalogue(count=900, seed=11):
    """Rows of the volunteers' spreadsheet. All cells are text, as it comes from the export."""
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        rows.append({
            "clip": number,
            "phrase": rng.choice(PHRASES),
            "pitch": f"{rng.uniform(180, 420):.1f}",
            "keeper": rng.choice(["ada", "joris", "mei"]),
        })
    # Joris' sheet: he was not sure about this one
    rows[502]["pitch"] = "~240"
    return rows


def mel_of(row, bands=16, frames=40):
    """Stand-in for the spectrogram; opening and resampling the flac takes a moment."""
    time.sleep(0.03)
    generator = torch.Generator().manual_seed(row["clip"])
    mel = torch.randn(bands, frames, generator=generator)
    mel[PHRASES.index(row["phrase"]) * 3] += 1.5
    return mel


class ClipFeed:
    """Iterates over batches that a thread has prepared; at most `ahead` of them lie ready."""

    def __init__(self, rows, batch, seed=0, ahead=6):
        self.rows, self.batch, self.seed = list(rows), batch, seed
        self.ready = queue.Queue(maxsize=ahead)

    def __len__(self):
        return len(self.rows) // self.batch

    def __iter__(self):
        threading.Thread(target=self._prepare, name="clips", daemon=True).start()
        for _ in range(len(self)):
            yield self.ready.get()

    def _prepare(self):
        rng = random.Random(self.seed)
        order = list(range(len(self.rows)))
        if self.seed:                      # the first epoch goes through the sheet in its order
            rng.shuffle(order)
        for start in range(0, len(self) * self.batch, self.batch):
            rows = [self.rows[i] for i in order[start:start + self.batch]]
            self.ready.put(self._collate(rows))

    def _collate(self, rows):
        mel = torch.stack([mel_of(row) for row in rows])
        phrase = torch.tensor([PHRASES.index(row["phrase"]) for row in rows])
        pitch = torch.tensor([float(row["pitch"]) / 100 for row in rows])
        return mel, phrase, pitch
