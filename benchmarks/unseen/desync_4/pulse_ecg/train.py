import torch
from beats import Beats
from lightning.fabric import Fabric
from loop import Finite, Loop, Progress
from torch import nn
from torch.utils.data import DataLoader


def rhythm(channels=16):
    return nn.Sequential(
        nn.Conv1d(1, channels, 9, stride=2, padding=4),
        nn.GroupNorm(4, channels),
        nn.ReLU(),
        nn.Conv1d(channels, channels, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(channels, 4),
    )


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(17)
    model = rhythm()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    loader = fabric.setup_dataloaders(DataLoader(Beats(6400, flat=[2121]), batch_size=4))
    finite = Finite()
    Loop(fabric, [finite, Progress(fabric, 50)]).fit(model, optimizer, loader)
    fabric.save("/tmp/pulse_ecg.ckpt", {"model": model, "optimizer": optimizer})
    fabric.print("saved", flush=True)


if __name__ == "__main__":
    main()
