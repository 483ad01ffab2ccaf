import torch

VIEWERS, FILMS = 60, 40


def draw(seed, count, size=16):
    gen = torch.Generator().manual_seed(seed)
    taste = torch.linspace(-1, 1, VIEWERS)
    appeal = torch.linspace(1, -1, FILMS)
    evenings = []
    for _ in range(count):
        v = torch.randint(0, VIEWERS, (size,), generator=gen)
        f = torch.randint(0, FILMS, (size,), generator=gen)
        evenings.append((v, f, taste[v] * appeal[f]))
    return evenings
