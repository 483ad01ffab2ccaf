import pathlib

import torch


class PreviewWriter:
    """Predicted masks of a few fixed tiles, to look at while the training runs."""

    def __init__(self, folder, tiles, every=3):
        self.folder = pathlib.Path(folder)
        self.tiles = tiles
        self.every = every

    @torch.no_grad()
    def __call__(self, model, epoch):
        if epoch % self.every != self.every - 1:
            return
        model.eval()
        masks = model(self.tiles).sigmoid()
        model.train()
        torch.save((masks > 0.5).to(torch.uint8), self.folder / f"preview_{epoch}.pt")
