import torch
import torch.distributed as dist
import torch.nn.functional as F


class Engine:
    def __init__(self, model, opt, sched, device):
        self.model, self.opt, self.sched, self.device = model, opt, sched, device

    def train_epoch(self, loader):
        self.model.train()
        meter = torch.zeros(2, device=self.device)
        for batch in loader:
            if batch is None:
                continue
            bands, water = (t.to(self.device, non_blocking=True) for t in batch)
            loss = F.cross_entropy(self.model(bands), water)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
            meter += torch.stack([loss.detach(), torch.ones_like(loss.detach())])
        self.sched.step()
        dist.all_reduce(meter)
        return (meter[0] / meter[1]).item()

    @torch.no_grad()
    def iou(self, loader):
        net = self.model.module.eval()
        counts = torch.zeros(2, device=self.device)
        for batch in loader:
            if batch is not None:
                bands, water = (t.to(self.device) for t in batch)
                pred = net(bands).argmax(1)
                both = ((pred == 1) & (water == 1)).sum()
                either = ((pred == 1) | (water == 1)).sum()
                counts += torch.stack([both, either])
        dist.all_reduce(counts)
        return (counts[0] / counts[1].clamp(min=1)).item()
