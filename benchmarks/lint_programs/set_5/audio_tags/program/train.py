import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset, random_split

from features import load_features
from model import TagNet


def parse_args():
    p = argparse.ArgumentParser(description="accelerate launch train.py --clips /shared/audioset")
    p.add_argument("--clips", required=True)
    p.add_argument("--seconds", type=int, default=10)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--out", default="tagger")
    return p.parse_args()


def average_precision(scores, truth):
    """Mean over the classes that occur."""
    aps = []
    for c in range(truth.size(1)):
        hits = truth[scores[:, c].argsort(descending=True), c]
        if hits.sum() > 0:
            precision = hits.cumsum(0) / torch.arange(1, len(hits) + 1, device=hits.device)
            aps.append((precision * hits).sum() / hits.sum())
    return torch.stack(aps).mean().item()


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    scores, truth = [], []
    for x, y in loader:
        s, t = accelerator.gather_for_metrics((model(x.float()), y))
        scores.append(s)
        truth.append(t)
    return average_precision(torch.cat(scores), torch.cat(truth))


def main():
    args = parse_args()
    accelerator = Accelerator()
    set_seed(6, device_specific=True)

    features = load_features(args.clips, args.seconds)
    data = TensorDataset(features["x"], features["y"])
    held_out = len(data) // 10
    train_set, val_set = random_split(data, [len(data) - held_out, held_out], torch.Generator().manual_seed(6))
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size)

    model = TagNet(len(features["classes"]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)

    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            loss = F.binary_cross_entropy_with_logits(model(x.float()), y)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        mean_ap = evaluate(accelerator, model, val_loader)
        accelerator.print(f"epoch {epoch} loss {loss.item():.4f} mAP {mean_ap:.4f}")
    accelerator.wait_for_everyone()
    accelerator.save_model(model, args.out)
    accelerator.end_training()


if __name__ == "__main__":
    main()
