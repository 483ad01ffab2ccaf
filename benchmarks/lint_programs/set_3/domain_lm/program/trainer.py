import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from meters import MetricLogger


class CharLM(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


class Trainer:
    def __init__(self, cfg, stream, vocab, device):
        self.cfg, self.stream, self.device = cfg, stream, device
        torch.manual_seed(cfg["seed"])
        net = CharLM(vocab, cfg["hidden"]).to(device)
        self.model = DDP(net, device_ids=[device.index] if device.type == "cuda" else None)
        self.opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
        self.log = MetricLogger(device)

    def report(self, step):
        self.log.synchronize_between_processes()
        if dist.get_rank() == 0:
            print(f"step {step}  {self.log}", flush=True)
        self.log.reset()

    def fit(self):
        for step, (domain, ids) in enumerate(self.stream, 1):
            ids = ids.to(self.device)
            logits = self.model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            self.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.log.update(**{"loss": loss, f"loss/{domain}": loss})
            if step % self.cfg["log_every"] == 0:
                self.report(step)
            if step == self.cfg["steps"]:
                break
        if dist.get_rank() == 0:
            torch.save(self.model.module.state_dict(), "char_lm.pt")
        dist.barrier()
