class PixelBudget:
    """Bounds what one epoch costs: large pictures count for more."""

    def __init__(self, pixels):
        self.pixels = pixels
        self.used = 0

    def renew(self):
        self.used = 0

    def spend(self, pictures):
        self.used += pictures.shape[0] * pictures.shape[-1] * pictures.shape[-2]

    @property
    def exhausted(self):
        return self.used >= self.pixels
