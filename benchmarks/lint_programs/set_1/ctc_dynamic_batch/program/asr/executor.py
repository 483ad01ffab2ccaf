import logging

import torch
import torch.distributed as dist
from torch.nn.utils import clip_grad_norm_


class Executor:
    def __init__(self, device, conf):
        self.step = 0
        self.device = device
        self.grad_clip = conf["grad_clip"]
        self.log_interval = conf["log_interval"]

    def _to_device(self, batch):
        return [t.to(self.device, non_blocking=True) for t in batch[1:]]

    def train(self, model, optimizer, scheduler, loader, epoch):
        model.train()
        for batch_idx, batch in enumerate(loader):
            feats, feat_lens, labels, label_lens = self._to_device(batch)
            loss = model(feats, feat_lens, labels, label_lens)
            optimizer.zero_grad()
            loss.backward()
            grad_norm = clip_grad_norm_(model.parameters(), self.grad_clip)
            optimizer.step()
            scheduler.step()
            self.step += 1
            if batch_idx % self.log_interval == 0:
                logging.info("TRAIN epoch %d batch %d loss %.3f lr %.2e norm %.2f", epoch, batch_idx,
                             loss.item(), scheduler.get_last_lr()[0], grad_norm.item())

    @torch.no_grad()
    def cv(self, model, loader):
        model = model.module
        model.eval()
        acc = torch.zeros(2, device=self.device)
        for batch in loader:
            feats, feat_lens, labels, label_lens = self._to_device(batch)
            loss = model(feats, feat_lens, labels, label_lens)
            acc += torch.stack([loss * feats.size(0), loss.new_tensor(feats.size(0))])
        dist.all_reduce(acc)
        return (acc[0] / acc[1]).item()
