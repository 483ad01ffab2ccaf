"""Lists of herbs that grow together, with the soil they were found on."""
import torch

HERBS, SOILS = 300, 6


def pretrained(width, seed=0):
    """Vectors from the co-occurrence counts of the flora; herbs are in the order of their first description."""
    g = torch.Generator().manual_seed(seed)
    vectors = 0.4 * torch.randn(HERBS, width, generator=g)
    counts = torch.arange(HERBS).remainder(7).float() + 1
    vectors *= counts.log1p()[:, None] / counts.log1p().mean()
    vectors[251, 3] = 7.5  # a hybrid of two herbs with a single record
    return vectors


class Plots(torch.utils.data.Dataset):
    def __init__(self, count, herbs_per_plot, seed):
        g = torch.Generator().manual_seed(seed)
        self.soil = torch.randint(0, SOILS, (count,), generator=g)
        centre = self.soil[:, None] * (HERBS // SOILS)
        spread = torch.randint(0, HERBS // 3, (count, herbs_per_plot), generator=g)
        self.herbs = (centre + spread) % HERBS

    def __len__(self):
        return len(self.soil)

    def __getitem__(self, i):
        return self.herbs[i], self.soil[i]

    def counts(self):
        """Plots of each soil."""
        return self.soil.bincount(minlength=SOILS)


def _overview():
    vectors = pretrained(32)
    lengths = vectors.norm(dim=1)
    print(f"{HERBS} herbs, length {lengths.mean():.2f} +- {lengths.std():.2f}")
    print("plots per soil:", Plots(3600, 12, seed=1).counts().tolist())


if __name__ == "__main__":
    _overview()
