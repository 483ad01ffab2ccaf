import argparse
import os

import torch
import torch.nn.functional as F
import yaml
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, ProjectConfiguration, set_seed
from torch.utils.data import DataLoader

from net import GlyphNet, glyphs


class Progress:
    def __init__(self):
        self.epoch = 0
        self.step = 0

    def state_dict(self):
        return {"epoch": self.epoch, "step": self.step}

    def load_state_dict(self, state):
        self.epoch = state["epoch"]
        self.step = state["step"]


@torch.no_grad()
def accuracy(accelerator, model, loader):
    model.eval()
    hits, seen = 0, 0
    for x, y in loader:
        pred = model(x).argmax(-1)
        pred, y = accelerator.gather_for_metrics((pred, y))
        hits += (pred == y).sum().item()
        seen += y.numel()
    model.train()
    return hits / seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)

    project = ProjectConfiguration(
        project_dir=cfg["project_dir"], automatic_checkpoint_naming=True, total_limit=cfg["keep"]
    )
    accelerator = Accelerator(
        project_config=project, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True)
    )
    set_seed(cfg["seed"])
    train_loader = DataLoader(glyphs(640, cfg["num_classes"], 1), cfg["batch_size"], shuffle=True)
    val_loader = DataLoader(glyphs(130, cfg["num_classes"], 2), cfg["batch_size"])
    model = GlyphNet(cfg["num_classes"])
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=cfg["momentum"])
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)

    progress = Progress()
    accelerator.register_for_checkpointing(progress)
    skip = 0
    folder = os.path.join(cfg["project_dir"], "checkpoints")
    if args.resume and os.path.isdir(folder):
        accelerator.load_state()
        skip = progress.step - progress.epoch * len(train_loader)
        newest = max(int(d.rsplit("_", 1)[1]) for d in os.listdir(folder))
        accelerator.project_configuration.iteration = newest + 1

    for epoch in range(progress.epoch, cfg["epochs"]):
        loader = accelerator.skip_first_batches(train_loader, skip) if skip else train_loader
        loader.set_epoch(epoch)
        skip = 0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            progress.step += 1
            if progress.step % cfg["save_every"] == 0 and accelerator.is_main_process:
                accelerator.save_state()
        progress.epoch = epoch + 1
        accelerator.print(f"epoch {epoch} acc {accuracy(accelerator, model, val_loader):.3f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
