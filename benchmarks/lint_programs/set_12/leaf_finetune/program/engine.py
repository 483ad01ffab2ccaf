import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

import hooks
from data import build_loader
from model import LeafNet, param_groups, set_trainable


class Engine:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg["seed"])
        self.net = LeafNet(cfg["model"]["width"], cfg["data"]["classes"])
        set_trainable(self.net, cfg["model"]["frozen"], False)
        self.model = self.wrap()
        o = cfg["optim"]
        self.optimizer = torch.optim.SGD(param_groups(self.net, o), momentum=0.9,
                                         weight_decay=o["weight_decay"])
        self.train, self.val = build_loader(cfg, "train"), build_loader(cfg, "val")
        self.hooks = hooks.build(cfg["hooks"])
        self.epoch, self.loss = 0, float("nan")

    def wrap(self):
        return DDP(self.net)

    @staticmethod
    def say(message):
        if dist.get_rank() == 0:
            print(message, flush=True)

    def run(self):
        for self.epoch in range(self.cfg["epochs"]):
            for h in self.hooks:
                h.before_epoch(self)
            self.train_epoch()
            for h in self.hooks:
                h.after_epoch(self)

    def train_epoch(self):
        self.train.sampler.set_epoch(self.epoch)
        self.model.train()
        total = torch.zeros(2)
        for x, y in self.train:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
        dist.all_reduce(total)
        self.loss = (total[0] / total[1]).item()

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        hits = torch.zeros(2)
        for x, y in self.val:
            hits += torch.tensor([(self.net(x).argmax(1) == y).sum().item(), len(y)])
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()
