"""What the driver gets to know of the workers' progress."""

import time

from ray import train


class Books:
    """Collects the figures of an epoch and passes them on to the driver.

    The figures have been averaged over the workers, so one copy of them is enough.
    """

    def __init__(self, every=1):
        self.every = every
        self.opened = time.monotonic()
        self.pages = []

    @property
    def keeper(self):
        return train.get_context().get_world_rank() == 0

    def write(self, epoch, figures):
        page = {"epoch": epoch, "minutes": (time.monotonic() - self.opened) / 60, **figures}
        self.pages.append(page)
        if self.keeper and epoch % self.every == self.every - 1:
            self.publish(page)

    def publish(self, page):
        rounded = {name: round(value, 5) for name, value in page.items()}
        print("page", rounded, flush=True)
        train.report(rounded)

    def best(self, name):
        return min(page[name] for page in self.pages)

    def improvement(self, name):
        """How much a figure has fallen since the first page, as a share."""
        first = self.pages[0][name]
        return (first - self.best(name)) / first
