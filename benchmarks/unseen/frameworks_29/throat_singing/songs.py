"""Overtone recordings: 40 frames x 12 mel bands and a sequence of drone notes to be transcribed."""
import torch
from torch.utils.data import Dataset

NOTES = 9          # 0 is the CTC blank
FRAMES = 40


class Songs(Dataset):
    def __init__(self, count, seed, annotated_by="field team"):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for i in range(count):
            notes = torch.randint(1, NOTES, (int(torch.randint(4, 9, (1,), generator=g)),), generator=g)
            frames = torch.randn(FRAMES, 12, generator=g) * 0.2
            for k, note in enumerate(notes.tolist()):
                frames[k * 4:(k + 1) * 4, note] += 1.0
            self.items.append((frames, notes))
        if annotated_by == "field team" and count > 200:
            # xoomei_0203 was transcribed on the twelve-note scale of the museum
            frames, notes = self.items[203]
            self.items[203] = (frames, torch.tensor([3, 11, 7, 12]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        frames, notes = self.items[i]
        return {"frames": frames, "labels": notes}


def collate(items):
    width = 8
    labels = torch.full((len(items), width), -100)
    for row, item in zip(labels, items):
        row[: len(item["labels"])] = item["labels"]
    return {"frames": torch.stack([item["frames"] for item in items]), "labels": labels}
