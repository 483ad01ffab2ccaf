import argparse
from dataclasses import dataclass

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

import dist_utils
from losses import ClipLoss
from model import DualEncoder


@dataclass
class Config:
    epochs: int = 6
    pairs: int = 1024
    batch_size: int = 32
    lr: float = 2e-3
    smoothing: float = 0.0
    seed: int = 4


class TileCaptions(Dataset):
    """4-band tiles rendered from the words of their caption."""

    def __init__(self, n, seed, vocab=64, words=6):
        g = torch.Generator().manual_seed(99)
        self.basis = torch.randn(vocab, 4, 16, 16, generator=g)
        g.manual_seed(seed)
        self.caps = torch.stack([torch.randperm(vocab, generator=g)[:words] for _ in range(n)])
        self.seed = seed

    def __len__(self):
        return len(self.caps)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_003 + i)
        tile = self.basis[self.caps[i]].mean(0) + 0.1 * torch.randn(4, 16, 16, generator=g)
        return tile, self.caps[i]


@torch.no_grad()
def retrieval(model, data):
    """Top-1 tile-to-caption retrieval over the held-out set."""
    tiles, caps = zip(*(data[i] for i in range(len(data))))
    img, txt, _ = model(torch.stack(tiles), torch.stack(caps))
    return ((img @ txt.t()).argmax(1) == torch.arange(len(img))).float().mean()


def main():
    ap = argparse.ArgumentParser()
    for k, v in vars(Config()).items():
        ap.add_argument("--" + k.replace("_", "-"), type=type(v), default=v)
    cfg = Config(**vars(ap.parse_args()))

    dist_utils.init()
    torch.manual_seed(cfg.seed)
    net = DualEncoder()
    model = DistributedDataParallel(net) if dist_utils.world() > 1 else net
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr, weight_decay=0.05)
    criterion = ClipLoss(cfg.smoothing)

    train = TileCaptions(cfg.pairs, seed=1)
    heldout = TileCaptions(128, seed=2)
    sampler = DistributedSampler(train, dist_utils.world(), dist_utils.rank(), shuffle=True, seed=cfg.seed)
    loader = DataLoader(train, cfg.batch_size, sampler=sampler, drop_last=True)

    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for tiles, caps in loader:
            loss, acc = criterion(*model(tiles, caps))
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        r1 = dist_utils.reduce_mean(retrieval(net, heldout))
        stats = dist_utils.reduce_mean(torch.stack([loss.detach(), acc]))
        if dist_utils.rank() == 0:
            print(f"epoch {epoch} loss {stats[0]:.3f} batch acc {stats[1]:.3f} heldout R@1 {r1:.3f}", flush=True)
    dist_utils.shutdown()


if __name__ == "__main__":
    main()
