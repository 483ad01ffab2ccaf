import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def build_net(width, classes):
    return nn.Sequential(nn.Linear(width, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, classes))


class Trainer:
    def __init__(self, cfg, features, labels, device, local):
        self.cfg, self.device = cfg, device
        gen = torch.Generator().manual_seed(cfg["seed"])
        order = torch.randperm(len(labels), generator=gen)
        cut = int(0.8 * len(labels))
        self.train_loader = self._loader(features, labels, order[:cut], True)
        self.test_loader = self._loader(features, labels, order[cut:], False)
        net = build_net(features.size(1), cfg["graph"]["classes"]).to(device)
        self.model = DistributedDataParallel(net, device_ids=[local] if device.type == "cuda" else None)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg["lr"])

    def _loader(self, features, labels, rows, train):
        data = TensorDataset(features[rows], labels[rows])
        sampler = DistributedSampler(data, shuffle=train, seed=self.cfg["seed"], drop_last=train)
        return DataLoader(data, batch_size=self.cfg["batch_size"], sampler=sampler)

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            self.train_loader.sampler.set_epoch(epoch)
            self.model.train()
            for x, y in self.train_loader:
                loss = F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self.optimizer.step()
            accuracy = self.test()
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: test accuracy {accuracy:.3f}", flush=True)
        if dist.get_rank() == 0:
            os.makedirs(self.cfg["out"], exist_ok=True)
            torch.save(self.model.module.state_dict(), os.path.join(self.cfg["out"], "net.pt"))
        dist.barrier()

    @torch.no_grad()
    def test(self):
        self.model.eval()
        tally = torch.zeros(2, device=self.device)
        for x, y in self.test_loader:
            guess = self.model.module(x.to(self.device)).argmax(dim=1)
            tally += torch.tensor([(guess == y.to(self.device)).sum().item(), len(y)], device=self.device)
        dist.all_reduce(tally)
        return (tally[0] / tally[1]).item()
