import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class SurrogateDataset(Dataset):
    """Samples of a 16-d design space with a noisy simulated response."""

    def __init__(self, n, seed, noise=0.3):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.rand(n, 16, generator=g) * 2 - 1
        clean = torch.sin(3 * self.x[:, :4]).sum(1) + self.x[:, 4:8].prod(1)
        self.y = clean + noise * torch.randn(n, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def make_loaders(args):
    train = SurrogateDataset(args.train_size, seed=1)
    val = SurrogateDataset(args.val_size, seed=2)
    sampler = DistributedSampler(train, shuffle=True, seed=args.seed, drop_last=True)
    train_loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    val_loader = DataLoader(
        val,
        batch_size=args.batch_size * 2,
        sampler=DistributedSampler(val, shuffle=False),
    )
    return train_loader, val_loader
