import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import components  # noqa: F401  fills the registries
from registry import DATASETS, HOOKS, MODELS


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(self.device)
        torch.manual_seed(cfg["seed"])

        data = DATASETS.build(cfg["data"])
        self.sampler = DistributedSampler(data, seed=cfg["seed"], drop_last=True)
        self.loader = DataLoader(data, cfg["batch_size"], sampler=self.sampler, drop_last=True)

        net = MODELS.build(cfg["model"]).to(self.device)
        with torch.no_grad():  # materialise the lazy layers
            net(data[0]["img"][None].to(self.device))
        self.model = DistributedDataParallel(net, device_ids=[self.device.index] if cuda else None)
        self.optim = torch.optim.AdamW(self.model.parameters(), **cfg["optim"])
        for g in self.optim.param_groups:
            g["initial_lr"] = g["lr"]
        self.hooks = [HOOKS.build(h) for h in cfg["hooks"]]
        self.iter = self.epoch = 0
        self.outputs = {}

    @property
    def bare_model(self):
        m = self.model
        return m.module if hasattr(m, "module") else m

    def call(self, point):
        for h in self.hooks:
            getattr(h, point)(self)

    def run_iter(self, batch):
        batch = {k: v.to(self.device, non_blocking=True) for k, v in batch.items()}
        self.call("before_iter")
        # DDP has no train_step of its own
        self.outputs = self.bare_model.train_step(batch)
        self.optim.zero_grad(set_to_none=True)
        self.outputs["loss"].backward()
        self.optim.step()
        self.call("after_iter")
        self.iter += 1

    def train(self):
        self.model.train()
        for self.epoch in range(self.cfg["max_epochs"]):
            self.sampler.set_epoch(self.epoch)
            for batch in self.loader:
                self.run_iter(batch)
            self.call("after_epoch")
        dist.barrier()
