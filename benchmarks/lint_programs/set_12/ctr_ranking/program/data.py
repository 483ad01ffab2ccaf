import torch
from torch.utils.data import Dataset


class Impressions(Dataset):
    """Users, items and clicks in the order of time; later ones click less."""

    def __init__(self, n, users, items, seed):
        gen = torch.Generator().manual_seed(seed)
        self.user = torch.randint(users, (n,), generator=gen)
        self.item = torch.randint(items, (n,), generator=gen)
        taste = torch.randn(users, 4, generator=torch.Generator().manual_seed(1))
        style = torch.randn(items, 4, generator=torch.Generator().manual_seed(2))
        score = (taste[self.user] * style[self.item]).sum(1) - torch.linspace(0, 2, n)
        self.click = (torch.rand(n, generator=gen) < score.sigmoid()).float()

    def __len__(self):
        return len(self.click)

    def __getitem__(self, i):
        return self.user[i], self.item[i], self.click[i]
