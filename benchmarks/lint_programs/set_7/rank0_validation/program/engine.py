import torch
import torch.distributed as dist
import torch.nn.functional as F

from evaluator import Evaluator


class Engine:
    def __init__(self, cfg, model, optimizer, train_loader, val_loader, device):
        self.cfg = cfg
        self.model = model
        self.optimizer = optimizer
        self.train_loader = train_loader
        self.device = device
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        # the validation split is small: the main process does it on its own
        self.evaluator = Evaluator(val_loader, device) if self.rank == 0 else None
        self.best = 0.0

    def train_epoch(self, epoch):
        self.model.train()
        self.train_loader.sampler.set_epoch(epoch)
        stats = torch.zeros(2, device=self.device)
        for images, labels in self.train_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            loss = F.cross_entropy(self.model(images), labels, label_smoothing=0.1)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            stats += torch.stack([loss.detach() * len(labels), torch.tensor(float(len(labels)), device=self.device)])
        dist.all_reduce(stats)
        return (stats[0] / stats[1]).item()

    def validate(self, epoch):
        if self.evaluator is not None:
            accuracy = self.evaluator.run(self.model)
            print(f"epoch {epoch}: val accuracy {accuracy:.4f}", flush=True)
            if accuracy > self.best:
                self.best = accuracy
                torch.save(self.model.module.state_dict(), self.cfg.output)
        dist.barrier()

    def fit(self):
        for epoch in range(self.cfg.epochs):
            loss = self.train_epoch(epoch)
            if self.rank == 0:
                print(f"epoch {epoch}: train loss {loss:.4f}", flush=True)
            if (epoch + 1) % self.cfg.val_every == 0:
                self.validate(epoch)
