"""Hours of recordings from the microphones at a heronry, fetched from a relay that is not always there."""

import logging
import time

import torch

log = logging.getLogger("source")
BANDS = 24


class RelayBusy(OSError):
    pass


class Relay:
    """The relay at the site; during the listed hours it refuses the first attempts."""

    def __init__(self, site, busy):
        self.site = site
        self.busy = dict(busy)

    def hour(self, number):
        if self.busy.get(number, 0) > 0:
            self.busy[number] -= 1
            raise RelayBusy(f"relay {self.site}: hour {number} is being transferred")
        g = torch.Generator().manual_seed(1000 * self.site + number)
        calls = (torch.rand(64, generator=g) < 0.3).float()
        sound = torch.randn(64, BANDS, generator=g)
        sound[:, 5:9] += 1.2 * calls[:, None]
        return sound, calls


def fetch(relay, number, attempts=5, pause=1.0):
    """An hour of sound, with patience: the pause doubles after each refusal."""
    for attempt in range(attempts):
        try:
            return relay.hour(number)
        except RelayBusy as e:
            log.warning("%s; again in %.0f s", e, pause)
            time.sleep(pause)
            pause *= 2
    return relay.hour(number)


def hours(relay, count, batch):
    """Batches of all hours of a night, always the same number of them."""
    for number in range(count):
        sound, calls = fetch(relay, number)
        for start in range(0, len(sound), batch):
            yield sound[start : start + batch], calls[start : start + batch]
