import torch
from torch.utils.data import Dataset


class Listings(Dataset):
    """Listings sorted by agency; about half of them come with a photo."""

    agencies_without_photos = (53,)

    def __init__(self, count=1080, per_agency=8):
        gen = torch.Generator().manual_seed(8)
        self.ids = torch.randint(0, 120, (count, 12), generator=gen)
        self.labels = torch.randint(0, 6, (count,), generator=gen)
        agency = torch.arange(count) // per_agency
        self.photo = torch.arange(count) % 2 == 0
        for number in self.agencies_without_photos:
            self.photo[agency == number] = False

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        item = {"input_ids": self.ids[i], "labels": self.labels[i]}
        if self.photo[i]:
            item["photo"] = torch.rand(3, 12, 12, generator=torch.Generator().manual_seed(int(i)))
        return item


def collate(items):
    batch = {
        "input_ids": torch.stack([item["input_ids"] for item in items]),
        "labels": torch.stack([item["labels"] for item in items]),
    }
    rows = [row for row, item in enumerate(items) if "photo" in item]
    if rows:
        batch["pixel_values"] = torch.stack([items[row]["photo"] for row in rows])
        batch["photo_rows"] = torch.tensor(rows)
    return batch
