import torch
from torch.utils.data import Dataset


class Tiles(Dataset):
    """Aerial tiles with 0..2 bright rectangles; some tiles show bare ground only."""

    def __init__(self, num=512, size=64, classes=3, empty=0.45, seed=0):
        self.num, self.size, self.classes, self.empty, self.seed = num, size, classes, empty, seed

    def __len__(self):
        return self.num

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 99991 + i)
        img = torch.randn(3, self.size, self.size, generator=g) * 0.1
        boxes, labels = [], []
        if torch.rand(1, generator=g).item() >= self.empty:
            for _ in range(int(torch.randint(1, 3, (1,), generator=g))):
                w, h = torch.randint(14, 30, (2,), generator=g).tolist()
                x = int(torch.randint(0, self.size - w, (1,), generator=g))
                y = int(torch.randint(0, self.size - h, (1,), generator=g))
                c = int(torch.randint(0, self.classes, (1,), generator=g))
                img[c, y:y + h, x:x + w] += 1.0
                boxes.append([x, y, x + w, y + h])
                labels.append(c)
        return img, torch.tensor(boxes).float().view(-1, 4), torch.tensor(labels).long()


def collate(rows):
    imgs, boxes, labels = zip(*rows)
    return torch.stack(imgs), list(boxes), list(labels)
