"""Pictures of the ice thickness, for the people who look at the run."""
import logging
import pathlib
import shutil
import tempfile

import torch

log = logging.getLogger("glacier")

SHADES = " .:-=+*#%@"


def draw(field):
    """A field as lines of text."""
    low, high = field.min(), field.max()
    steps = ((field - low) / (high - low + 1e-6) * (len(SHADES) - 1)).round().int()
    return "\n".join("".join(SHADES[value] for value in row) for row in steps.tolist())


class PreviewWriter:
    """Writes a map of the same valley every few epochs; the network is the one that is trained."""

    def __init__(self, size, every):
        self.every = every
        axis = torch.linspace(-1, 1, size)
        self.grid = torch.cartesian_prod(axis, axis)
        self.size = size
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="glacier-"))

    def due(self, epoch):
        return (epoch + 1) % self.every == 0

    def write(self, network, epoch):
        was_training = network.training
        network.eval()
        with torch.no_grad():
            thickness = network(self.grid).reshape(self.size, self.size)
        network.train(was_training)
        path = self.folder / f"epoch-{epoch:03d}.txt"
        path.write_text(draw(thickness))
        log.info("wrote %s, mean thickness %.3f", path.name, thickness.mean().item())

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
