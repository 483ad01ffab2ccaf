import torch
import torch.nn.functional as F

from .dist_utils import total


class Trainer:
    def __init__(self, model, optimizer, train_loader, val_loader, hooks, device, work_dir):
        self.model, self.optimizer = model, optimizer
        self.train_loader, self.val_loader = train_loader, val_loader
        self.hooks, self.device, self.work_dir = hooks, device, work_dir
        self.epoch = self.step = 0
        self.last_loss = float("nan")

    def call(self, event):
        for hook in self.hooks:
            getattr(hook, event)(self)

    def train(self, epochs):
        for self.epoch in range(epochs):
            self.call("before_epoch")
            self.model.train()
            for wave, label in self.train_loader:
                loss = F.cross_entropy(self.model(wave.to(self.device)), label.to(self.device))
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self.optimizer.step()
                self.step += 1
                self.last_loss = loss.item()
                self.call("after_step")
            self.call("after_epoch")

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        right = count = 0
        for wave, label in self.val_loader:
            pred = self.model(wave.to(self.device)).argmax(1).cpu()
            right += (pred == label).sum().item()
            count += len(label)
        right, count = total(right, count, device=self.device)
        return right / count
