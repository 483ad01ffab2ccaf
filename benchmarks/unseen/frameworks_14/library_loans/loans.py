import torch
from torch.utils.data import TensorDataset

FEATURES = 10

# loans that came back in a week, by branch and genre (crime, history, poetry, travel)
RETURNED = [
    [(31, 22, 9, 14), (28, 17, 8, 21), (35, 20, 11, 12)],
    [(26, 20, 11, 13), (29, 18, 7, 16), (33, 24, 10, 19)],
    [(34, 25, 6, 18), (27, 19, 5, 23), (30, 21, 9, 15)],
    [(29, 23, 12, 11), (31, 16, 9, 20), (32, 22, 8, 17)],
]


def loans(counts, seed):
    """Features of each loan (reader, season, shelf...), the days it was kept, and its genre."""
    g = torch.Generator().manual_seed(seed)
    weights = torch.randn(FEATURES, generator=torch.Generator().manual_seed(0))
    genre = torch.cat([torch.full((n,), k) for k, n in enumerate(counts)])
    genre = genre[torch.randperm(len(genre), generator=g)]
    features = torch.randn(len(genre), FEATURES, generator=g)
    days = 14 + 3 * (features @ weights) + 2 * genre + torch.randn(len(genre), generator=g)
    return TensorDataset(features, days.clamp(min=1), genre)


def history(size):
    """The loans of the last years, of all branches."""
    quarter = size // 4
    return loans([quarter] * 4, seed=7)


def week(number, branch):
    return loans(RETURNED[number][branch], seed=100 + 10 * number + branch)
