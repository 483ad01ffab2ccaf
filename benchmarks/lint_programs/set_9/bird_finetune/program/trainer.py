import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, network, cfg, device, callbacks=()):
        self.cfg, self.device = cfg, device
        self.callbacks = list(callbacks)
        self.network = network.to(device)
        self.model = self.wrap()
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=cfg["lr"])

    def wrap(self):
        ids = [self.device.index] if self.device.type == "cuda" else None
        return DistributedDataParallel(self.network, device_ids=ids)

    def log(self, message):
        if dist.get_rank() == 0:
            print(message, flush=True)

    def call(self, hook, *args):
        for callback in self.callbacks:
            getattr(callback, hook)(self, *args)

    def fit(self, train_set, val_set):
        sampler = DistributedSampler(train_set, seed=self.cfg["seed"])
        loader = DataLoader(train_set, self.cfg["batch_size"], sampler=sampler)
        for epoch in range(self.cfg["epochs"]):
            sampler.set_epoch(epoch)
            self.call("on_epoch_start", epoch)
            train_loss = self.train_epoch(loader)
            metrics = {"train_loss": train_loss, "val_acc": self.validate(val_set)}
            self.call("on_epoch_end", epoch, metrics)

    def train_epoch(self, loader):
        self.model.train()
        totals = torch.zeros(2, device=self.device)
        for wave, label in loader:
            loss = F.cross_entropy(self.model(wave.to(self.device)), label.to(self.device))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            totals[0] += loss.detach() * len(label)
            totals[1] += len(label)
        dist.all_reduce(totals)
        return (totals[0] / totals[1]).item()

    @torch.no_grad()
    def validate(self, dataset):
        self.network.eval()
        wave, label = dataset.tensors
        part = slice(dist.get_rank(), None, dist.get_world_size())
        pred = self.network(wave[part].to(self.device)).argmax(dim=1)
        totals = torch.zeros(2, device=self.device)
        totals[0] = (pred == label[part].to(self.device)).sum()
        totals[1] = len(pred)
        dist.all_reduce(totals)
        return (totals[0] / totals[1]).item()
