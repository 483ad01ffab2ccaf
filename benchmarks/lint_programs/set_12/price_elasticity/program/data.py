import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def sales(n, products, seed):
    world = torch.Generator().manual_seed(99)
    level = torch.randn(products, generator=world)
    slope = 0.5 + torch.rand(products, generator=world) * 2
    g = torch.Generator().manual_seed(seed)
    product = torch.randint(0, products, (n,), generator=g)
    season = torch.rand(n, generator=g) * 6.283
    log_price = torch.randn(n, generator=g) * 0.5
    noise = torch.randn(n, generator=g) * 0.1
    quantity = level[product] + 0.4 * torch.sin(season) - slope[product] * log_price + noise
    return TensorDataset(product, season, log_price, quantity)


def make_loader(args, n, seed, train):
    data = sales(n, args.products, seed)
    sampler = DistributedSampler(data, shuffle=train, seed=args.seed, drop_last=train)
    return DataLoader(data, batch_size=args.batch_size, sampler=sampler)
