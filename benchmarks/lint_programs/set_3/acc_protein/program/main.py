import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from proteins import AMINO, STATES, Proteins, collate
from samplers import LengthPools


class Tagger(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(AMINO + 1, dim, padding_idx=0)
        self.conv = nn.Sequential(nn.Conv1d(dim, dim, 5, padding=2), nn.GELU(), nn.Dropout(0.1),
                                  nn.Conv1d(dim, STATES, 1))

    def forward(self, x):
        return self.conv(self.emb(x).transpose(1, 2))


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    hits = total = 0
    for b in loader:
        pred = model(b["x"]).argmax(1)
        ok = ((pred == b["y"]) & (b["y"] >= 0)).sum(1)
        ok, n = accelerator.gather_for_metrics((ok, (b["y"] >= 0).sum(1)))
        hits, total = hits + ok.sum().item(), total + n.sum().item()
    model.train()
    return hits / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--proteins", type=int, default=6000)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=31)
    ap.add_argument("--coverage", action="store_true", help="count the distinct proteins of an epoch")
    args = ap.parse_args()

    accelerator = Accelerator()
    set_seed(args.seed)
    model = Tagger()
    # from here on every process has dropout noise of its own
    set_seed(args.seed, device_specific=True)

    train, dev = Proteins(args.proteins, 0), Proteins(max(8, args.proteins // 20), 1)
    train_loader = DataLoader(train, batch_sampler=LengthPools(train.lengths, args.batch_size), collate_fn=collate)
    dev_loader = DataLoader(dev, args.batch_size, collate_fn=collate)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, opt, train_loader, dev_loader = accelerator.prepare(model, opt, train_loader, dev_loader)

    for epoch in range(args.epochs):
        seen = []
        for b in train_loader:
            loss = F.cross_entropy(model(b["x"]), b["y"], ignore_index=-100)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
            if args.coverage:
                seen += accelerator.gather(b["id"]).tolist()
        acc = evaluate(accelerator, model, dev_loader)
        extra = f" distinct {len(set(seen))}/{len(train)}" if args.coverage else ""
        accelerator.print(f"epoch {epoch} q3 {acc:.4f}{extra}", flush=True)

    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), "tagger.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()
