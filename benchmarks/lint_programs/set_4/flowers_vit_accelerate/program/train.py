import argparse
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logger = get_logger(__name__)


class TinyViT(nn.Module):
    def __init__(self, classes=10, size=24, patch=6, dim=48, depth=2):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.pos = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2) + self.pos
        return self.head(self.encoder(x).mean(1))


def flowers(n, seed, classes=10):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    hue = torch.randn(classes, 3, 1, 1, generator=torch.Generator().manual_seed(0))
    return TensorDataset(hue[y] + torch.randn(n, 3, 24, 24, generator=g), y)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--images", type=int, default=5000)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=17)
    p.add_argument("--output-dir", default="out")
    args = p.parse_args()

    accelerator = Accelerator()
    set_seed(args.seed)
    train_dl = DataLoader(flowers(args.images, 1), args.batch_size, shuffle=True, drop_last=True)
    eval_dl = DataLoader(flowers(args.images // 8 + 3, 2), args.batch_size)
    model = TinyViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        for x, y in train_dl:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

        model.eval()
        correct = total = 0
        for x, y in eval_dl:
            with torch.no_grad():
                pred = model(x).argmax(-1)
            if accelerator.is_main_process:
                pred, y = accelerator.gather_for_metrics((pred, y))
                correct += (pred == y).sum().item()
                total += len(y)
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            accuracy = correct / total
            print(f"epoch {epoch} accuracy {accuracy:.3f} on {total} images", flush=True)
            if accuracy > best:
                best = accuracy
                os.makedirs(args.output_dir, exist_ok=True)
                torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(args.output_dir, "best.pt"))

    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
