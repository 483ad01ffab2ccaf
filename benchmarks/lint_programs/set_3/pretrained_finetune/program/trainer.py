import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, cfg, net, train_loader, val_loader, callbacks, device):
        self.cfg, self.device = cfg, device
        self.train_loader, self.val_loader, self.callbacks = train_loader, val_loader, callbacks
        self.net = net.to(device)
        self.wrap()
        self.optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=cfg["lr"])

    def wrap(self):
        self.model = DDP(self.net, device_ids=[self.device.index] if self.device.type == "cuda" else None)

    def say(self, msg):
        if dist.get_rank() == 0:
            print(msg, flush=True)

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        stat = torch.zeros(3, device=self.device)
        for x, y in self.val_loader:
            x, y = x.to(self.device), y.to(self.device)
            out = self.net(x)
            stat += torch.stack([F.cross_entropy(out, y, reduction="sum"), (out.argmax(-1) == y).sum(), y.new_tensor(len(y))]).float()
        dist.all_reduce(stat)
        return (stat[0] / stat[2]).item(), (stat[1] / stat[2]).item()

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            for cb in self.callbacks:
                cb.on_epoch_start(self, epoch)
            self.train_loader.sampler.set_epoch(epoch)
            self.model.train()
            for x, y in self.train_loader:
                loss = F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self.optimizer.step()
            val, acc = self.validate()
            self.say(f"epoch {epoch} val {val:.4f} acc {acc:.3f}")
            for cb in self.callbacks:
                cb.on_epoch_end(self, epoch, val)
        dist.barrier()
