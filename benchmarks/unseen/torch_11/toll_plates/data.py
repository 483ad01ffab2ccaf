import torch
from torch.utils.data import Dataset

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class Plates(Dataset):
    """Strips of plate images and the characters on them, 0 for the blank."""

    def __init__(self, count, height=8, width=20, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.images = torch.randn(count, height, width, generator=g)
        self.texts = []
        for _ in range(count):
            length = int(torch.randint(5, 8, (1,), generator=g))
            self.texts.append(torch.randint(1, len(ALPHABET) + 1, (length,), generator=g))
        # two plates in one picture: a car on a trailer
        self.texts[count // 2] = torch.cat([self.texts[0], self.texts[1], self.texts[2], self.texts[3]])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index], self.texts[index]


def collate(samples):
    images = torch.stack([image for image, _ in samples])
    texts = [text for _, text in samples]
    lengths = torch.tensor([len(text) for text in texts])
    return images, torch.cat(texts), lengths
