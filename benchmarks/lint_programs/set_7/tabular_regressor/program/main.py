import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from config import get_config
from data import build_loaders
from engine import Regressor, evaluate, train_epoch


def main():
    cfg = get_config()
    accelerator = Accelerator()
    set_seed(cfg.seed, device_specific=True)

    train_loader, val_loader, n_features = build_loaders(cfg)
    model = Regressor(n_features, cfg.hidden, cfg.dropout, cfg.noise)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)

    best, bad = float("inf"), 0
    for epoch in range(cfg.epochs):
        train_loss = train_epoch(accelerator, model, optimizer, train_loader)
        val_loss = evaluate(accelerator, model, val_loader)
        accelerator.print(f"epoch {epoch} train {train_loss:.4f} val {val_loss:.4f}")
        if val_loss < best:
            best, bad = val_loss, 0
            accelerator.save(accelerator.unwrap_model(model).state_dict(), cfg.output)
        else:
            bad += 1
            if bad >= cfg.patience:
                break
    accelerator.print(f"best val {best:.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
