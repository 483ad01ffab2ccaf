import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset


class Purchases(Dataset):
    """Positive (user, item) pairs; users like the items of their own cluster."""

    def __init__(self, pairs, users, items, clusters=10, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.user = torch.randint(0, users, (pairs,), generator=g)
        offset = torch.randint(0, items // clusters, (pairs,), generator=g)
        self.item = (self.user % clusters) + clusters * offset

    def __len__(self):
        return len(self.user)

    def __getitem__(self, i):
        return self.user[i], self.item[i]


class BPR(nn.Module):
    def __init__(self, users, items, dim=32, dropout=0.1):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def forward(self, user, positive, negatives):
        u = self.dropout(self.user(user))
        pos = (u * self.item(positive)).sum(-1, keepdim=True)
        neg = torch.einsum("bd,bnd->bn", u, self.item(negatives))
        return -F.logsigmoid(pos - neg).mean()


@torch.no_grad()
def hit_rate(model, users, items, k=50):
    scores = model.user(users) @ model.item.weight.T
    top = scores.topk(k, dim=1).indices
    return (top == items[:, None]).any(1)
