import argparse
import json
import os

import torch
from torch.nn.parallel import DistributedDataParallel

from poselab import data, hooks, model  # noqa: F401  (registration)
from poselab.core import DATASETS, HOOKS, MODELS, get_dist_info, init_dist
from poselab.data import build_loader


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rank, self.world = get_dist_info()
        self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) \
            if torch.cuda.is_available() else torch.device("cpu")
        torch.manual_seed(cfg["seed"])
        self.train_loader = build_loader(cfg["train_loader"], DATASETS.build(cfg["train_data"]), cfg["seed"])
        self.val_loader = build_loader(cfg["val_loader"], DATASETS.build(cfg["val_data"]), cfg["seed"])
        self.raw_model = self.model = MODELS.build(cfg["model"]).to(self.device)
        if self.world > 1:
            ids = [self.device.index] if self.device.type == "cuda" else None
            self.model = DistributedDataParallel(self.raw_model, device_ids=ids)
        opt = dict(cfg["optimizer"])
        self.optimizer = getattr(torch.optim, opt.pop("type"))(self.model.parameters(), **opt)
        self.hooks = [HOOKS.build(h) for h in cfg["hooks"]]
        self.epoch = self.iter = self.inner_iter = 0

    def log(self, msg):
        if self.rank == 0:
            print(msg, flush=True)

    def call(self, point):
        for hook in self.hooks:
            getattr(hook, point)(self)

    def run(self):
        for self.epoch in range(self.cfg["max_epochs"]):
            self.call("before_epoch")
            for self.inner_iter, batch in enumerate(self.train_loader):
                losses = self.model(batch["img"].to(self.device), batch["joints"].to(self.device), mode="loss")
                self.loss = sum(losses.values())
                self.optimizer.zero_grad()
                self.loss.backward()
                self.optimizer.step()
                self.call("after_iter")
                self.iter += 1
            self.call("after_epoch")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("config", nargs="?", default="configs/hand_toy.json")
    cfg = json.load(open(parser.parse_args().config))
    init_dist()
    Runner(cfg).run()
    if get_dist_info()[1] > 1:
        torch.distributed.destroy_process_group()
