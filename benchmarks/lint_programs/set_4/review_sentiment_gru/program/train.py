import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from reviews import prepare


class SentimentGRU(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, 2)

    def forward(self, ids):
        h, _ = self.gru(self.emb(ids))
        return self.out(h.max(1).values)


class Runner:
    def __init__(self, args, device):
        self.args, self.device = args, device
        vocab, train, test = prepare(args.cache, args.train_size, args.test_size)
        self.sampler = DistributedSampler(train, seed=args.seed, drop_last=True)
        self.train = DataLoader(train, args.batch_size, sampler=self.sampler, drop_last=True)
        self.test = DataLoader(test, 128, sampler=DistributedSampler(test, shuffle=False))
        torch.manual_seed(args.seed)
        net = SentimentGRU(vocab).to(device)
        self.model = DDP(net, device_ids=[device.index] if device.type == "cuda" else None)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    def epoch(self, i):
        self.sampler.set_epoch(i)
        self.model.train()
        for ids, label in self.train:
            loss = nn.functional.cross_entropy(self.model(ids.to(self.device)), label.to(self.device))
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        hits = torch.zeros(2, device=self.device)
        for ids, label in self.test:
            ok = self.model(ids.to(self.device)).argmax(1) == label.to(self.device)
            hits += torch.stack([ok.sum(), torch.tensor(len(label), device=self.device)]).float()
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cache", default="cache")
    p.add_argument("--train-size", type=int, default=40000)
    p.add_argument("--test-size", type=int, default=4000)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    runner = Runner(args, device)
    for i in range(args.epochs):
        runner.epoch(i)
        acc = runner.accuracy()
        if dist.get_rank() == 0:
            print(f"epoch {i} acc {acc:.3f}", flush=True)
    if dist.get_rank() == 0:
        torch.save(runner.model.module.state_dict(), "sentiment.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
