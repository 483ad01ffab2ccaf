"""The museum's catalogue: from the number of a specimen to its species. Curators change it while we train."""
import logging
import threading
import time

log = logging.getLogger("catalogue")


class Share:
    """The curators' share; entries are read one by one."""

    def __init__(self, tray, entries, latency=0.004):
        self.tray = tray
        self.entries = entries
        self.latency = latency

    def read(self, specimen, edition):
        time.sleep(self.latency)
        return (specimen * 7 + self.tray + (edition if specimen % 50 == 0 else 0)) % 8


class Catalogue:
    def __init__(self, share):
        self.share = share
        self.edition = 0
        self._species = {n: share.read(n, 0) for n in range(0, share.entries)}
        self._lock = threading.Lock()
        self._refresher = None

    def __len__(self):
        return self.share.entries

    def species(self, specimen):
        with self._lock:
            return self._species[specimen]

    def _refresh(self, edition):
        # nobody may see a catalogue that is half old and half new
        with self._lock as _:
            for specimen in self._species:
                self._species[specimen] = self.share.read(specimen, edition)
            self.edition = edition
        log.info("catalogue in its edition %d", edition)

    def refresh_in_background(self):
        """Reads the new edition while the network is evaluated."""
        if self._refresher is not None:
            self._refresher.join()
        self._refresher = threading.Thread(target=self._refresh, args=(self.edition + 1,), daemon=True)
        self._refresher.start()
