"""Simulated nights of a radio telescope."""
import torch

BINS = 32
# share of faint, single and repeating bursts in the fields of each telescope
FIELDS = {
    0: [(0.5, 0.3, 0.2), (0.4, 0.4, 0.2), (0.6, 0.2, 0.2)],
    1: [(0.3, 0.4, 0.3), (0.4, 0.3, 0.3), (0.5, 0.3, 0.2)],
    2: [(0.5, 0.2, 0.3), (0.4, 0.4, 0.2), (0.7, 0.3, 0.0)],
}


class Night:
    """The bursts of one night; slices give spectra, arrival times and kinds."""

    def __init__(self, telescope, number, count):
        fields = FIELDS[telescope % len(FIELDS)]
        g = torch.Generator().manual_seed(500 * telescope + number)
        shares = torch.tensor(fields[number % len(fields)])
        self.kinds = torch.multinomial(shares, count, replacement=True, generator=g)
        self.arrival = torch.rand(count, generator=g)
        axis = torch.linspace(0, 1, BINS)
        strength = torch.tensor([0.6, 2.0, 1.2])[self.kinds]
        pulse = torch.exp(-((axis[None] - self.arrival[:, None]) / 0.06).square())
        echo = torch.exp(-((axis[None] - self.arrival[:, None] - 0.2) / 0.06).square())
        pulse = pulse + 0.7 * echo * (self.kinds == 2)[:, None]
        self.spectra = strength[:, None] * pulse + 0.2 * torch.randn(count, BINS, generator=g)

    def __repr__(self):
        return f"Night({len(self)} bursts)"

    def __len__(self):
        return len(self.arrival)

    def __getitem__(self, index):
        return self.spectra[index], self.arrival[index], self.kinds[index]

    def batches(self, size):
        """Batches of equal size, in the order of the night."""
        for start in range(0, len(self) - size + 1, size):
            yield self[start : start + size]
