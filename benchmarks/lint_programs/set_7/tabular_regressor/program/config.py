import argparse


def get_config():
    p = argparse.ArgumentParser("tabular regressor")
    p.add_argument("--csv", default=None)
    p.add_argument("--val_fraction", type=float, default=0.2)
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--noise", type=float, default=0.05)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--patience", type=int, default=3)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--output", default="best.pt")
    return p.parse_args()
