import torch
from torch.utils.data import Dataset

SCENES = ["home_feed", "search", "detail_page", "cart", "live_room", "gift_card"]
SHARE = torch.tensor([0.50, 0.25, 0.15, 0.07, 0.0275, 0.0025])


class ClickLog(Dataset):
    """Impressions: user, item, scene and whether it was clicked."""

    def __init__(self, count, users=500, items=800, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.user = torch.randint(0, users, (count,), generator=g)
        self.item = torch.randint(0, items, (count,), generator=g)
        self.scene = torch.multinomial(SHARE, count, replacement=True, generator=g)
        score = ((self.user * 7 + self.item * 13) % 11).float() / 5.0 - 1.0 + 0.2 * self.scene
        self.click = (torch.rand(count, generator=g) < score.sigmoid()).float()

    def __len__(self):
        return len(self.user)

    def __getitem__(self, i):
        return self.user[i], self.item[i], self.scene[i], self.click[i]
