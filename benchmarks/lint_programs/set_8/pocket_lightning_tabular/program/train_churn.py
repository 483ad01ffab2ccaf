"""Customer churn on a made-up table.

    torchrun --nproc_per_node 2 train_churn.py --max-epochs 3
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset

from pocket import BestCheckpoint, PocketModule, PocketTrainer


def churn_table(n, seed):
    g = torch.Generator().manual_seed(seed)
    num = torch.randn(n, 8, generator=g)
    plan = torch.randint(0, 4, (n,), generator=g)
    score = num[:, 0] * num[:, 1] + num[:, 2] - 0.5 * (plan == 2).float()
    y = (score + 0.3 * torch.randn(n, generator=g) > 0).float()
    return TensorDataset(num, plan, y)


class ChurnNet(PocketModule):
    def __init__(self, hidden, lr):
        super().__init__()
        self.hparams = {"hidden": hidden, "lr": lr}
        self.plan = nn.Embedding(4, 8)
        self.mlp = nn.Sequential(nn.Linear(16, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 1))

    def predict(self, num, plan):
        return self.mlp(torch.cat([num, self.plan(plan)], 1)).squeeze(1)

    def training_step(self, batch):
        num, plan, y = batch
        return F.binary_cross_entropy_with_logits(self.predict(num, plan), y)

    def validation_step(self, batch):
        num, plan, y = batch
        logit = self.predict(num, plan)
        return {"loss": F.binary_cross_entropy_with_logits(logit, y),
                "acc": ((logit > 0).float() == y).float().mean()}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams["lr"])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--max-epochs", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--save-dir", default="logs")
    args = ap.parse_args()

    torch.manual_seed(5)
    best = BestCheckpoint(monitor="val_loss")
    trainer = PocketTrainer(args.max_epochs, args.save_dir, name="churn", callbacks=[best])
    trainer.fit(ChurnNet(args.hidden, args.lr), churn_table(2000, 1), churn_table(501, 2), args.batch_size)
    trainer.test(churn_table(500, 3), args.batch_size, ckpt_path=best.best_model_path)
    trainer.teardown()


if __name__ == "__main__":
    main()
