"""Joint model of mortality and length of stay in five hospitals; validated on the discharges of each quarter."""

import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from scorecards import Scorecard

VITALS = 16
# discharges at the beginning of a quarter for which the registry has not confirmed the outcome yet
UNCONFIRMED = {(3, 2): 9}


class TwoHeads(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(VITALS, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mortality = nn.Linear(hidden, 1)
        self.stay = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.mortality(h).squeeze(1), self.stay(h).squeeze(1)


class Hospital:
    def __init__(self, number):
        self.number = number
        self.g = torch.Generator().manual_seed(900 + number)
        self.severity = torch.linspace(-1, 1, VITALS)

    def admissions(self, n):
        x = torch.randn(n, VITALS, generator=self.g)
        risk = x @ self.severity / 2
        return x, (risk > 0.4).float(), 4 + risk.clamp(-3, 3)

    def discharges(self, quarter, n=80):
        """(vitals, kind of outcome, outcome) in the order of the discharge dates."""
        pending = UNCONFIRMED.get((self.number, quarter), 0)
        x, died, stay = self.admissions(n)
        for i in range(n):
            if i % 2 == 0 and i >= pending:
                yield x[i], "mortality", died[i].item()
            else:
                yield x[i], "stay", stay[i].item()


def train_quarter(model, opt, hospital, steps=75):
    model.train()
    for _ in range(steps):
        x, died, stay = hospital.admissions(32)
        logit, days = model(x)
        loss = F.binary_cross_entropy_with_logits(logit, died) + 0.3 * F.smooth_l1_loss(days, stay)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.03)
    return loss.item()


@torch.no_grad()
def validate(model, hospital, quarter):
    card = Scorecard()
    net = model.module.eval()
    for x, outcome, truth in hospital.discharges(quarter):
        logit, days = net(x.unsqueeze(0))
        card.record(outcome, (logit if outcome == "mortality" else days).item(), truth)
    return card.report()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(12)
    model = DDP(TwoHeads())
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    hospital = Hospital(rank)
    for quarter in range(6):
        loss = train_quarter(model, opt, hospital)
        scores = validate(model, hospital, quarter)
        if rank == 0:
            line = " ".join(f"{name} {value:.3f}" for name, value in sorted(scores.items()))
            print(f"quarter {quarter} loss {loss:.3f} {line}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
