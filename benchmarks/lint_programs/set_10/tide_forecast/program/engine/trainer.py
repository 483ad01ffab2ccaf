import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, optimizer, train_loader, val_loader, hooks, device, max_epochs):
        self.device = device
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
        self.optimizer = optimizer
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.hooks = hooks
        self.max_epochs = max_epochs
        self.loss_fn = torch.nn.SmoothL1Loss()
        self.iteration = 0
        self.epoch = 0
        self.last_loss = 0.0
        self.stop_reason = None

    def call(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def request_stop(self, reason):
        self.stop_reason = reason

    def train_epoch(self):
        self.model.train()
        self.train_loader.sampler.set_epoch(self.epoch)
        for x, y in self.train_loader:
            x, y = x.to(self.device), y.to(self.device)
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.last_loss = loss.item()
            self.call("after_iter")
            self.iteration += 1
            if self.stop_reason is not None:
                return

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        net = self.model.module
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        for x, y in self.val_loader:
            x, y = x.to(self.device), y.to(self.device)
            err = (net(x) - y).abs()
            sums[0] += err.sum().double()
            sums[1] += err.numel()
        dist.all_reduce(sums)
        return (sums[0] / sums[1]).item()

    def fit(self):
        self.call("before_train")
        while self.epoch < self.max_epochs and self.stop_reason is None:
            self.train_epoch()
            dist.barrier()
            mae = self.validate()
            if self.rank == 0:
                print(f"epoch {self.epoch}: val mae {mae:.4f}", flush=True)
            self.call("after_epoch")
            self.epoch += 1
        if self.rank == 0 and self.stop_reason:
            print(f"stopped: {self.stop_reason}", flush=True)
        self.call("after_train")
