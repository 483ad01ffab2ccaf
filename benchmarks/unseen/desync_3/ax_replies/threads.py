import torch


class TooDeep(RuntimeError):
    """A thread with more levels of replies than the ranker can read."""


def depth(forum, number):
    return 40 if (forum, number) == (3, 230) else number % 7


def load(reference, deepest=12):
    forum, number = reference
    if depth(forum, number) > deepest:
        raise TooDeep(f"{forum}/{number}")
    g = torch.Generator().manual_seed(hash((forum, number)) % 2**31)
    return torch.randn(28, generator=g), torch.randn(6, 28, generator=g), torch.randint(0, 6, (1,), generator=g)
