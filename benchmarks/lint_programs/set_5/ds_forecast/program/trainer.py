import torch
import torch.nn.functional as F


class Forecaster(torch.nn.Module):
    def __init__(self, past=168, future=24, width=256, depth=3):
        super().__init__()
        layers = [torch.nn.Linear(past, width), torch.nn.GELU()]
        for _ in range(depth - 1):
            layers += [torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Dropout(0.1)]
        self.net = torch.nn.Sequential(*layers, torch.nn.Linear(width, future))

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, engine, train_loader, val_loader, sampler, out):
        self.engine = engine
        self.train_loader, self.val_loader, self.sampler = train_loader, val_loader, sampler
        self.out = out
        self.best = float("inf")

    def train_epoch(self, epoch):
        self.engine.train()
        self.sampler.set_epoch(epoch)
        for x, y in self.train_loader:
            x, y = x.to(self.engine.device), y.to(self.engine.device)
            loss = F.huber_loss(self.engine(x), y)
            self.engine.backward(loss)
            self.engine.step()

    @torch.no_grad()
    def evaluate(self):
        self.engine.eval()
        total = torch.zeros((), device=self.engine.device)
        count = 0
        for x, y in self.val_loader:
            x, y = x.to(self.engine.device), y.to(self.engine.device)
            total += F.l1_loss(self.engine.module(x), y, reduction="sum")
            count += y.numel()
        return (total / count).item()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.train_epoch(epoch)
            mae = self.evaluate()
            if self.engine.global_rank == 0:
                print(f"epoch {epoch} val mae {mae:.4f}", flush=True)
            if mae < self.best:
                self.best = mae
                self.engine.save_checkpoint(self.out, tag="best", client_state={"epoch": epoch, "mae": mae})
