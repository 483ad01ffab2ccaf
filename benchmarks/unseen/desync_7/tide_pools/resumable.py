import logging

from torchdata.stateful_dataloader import StatefulDataLoader

log = logging.getLogger(__name__)


class Resumable:
    """Batches of a stateful loader. After a reading error it goes back to the last snapshot and reads on from there."""

    def __init__(self, dataset, batch_size, snapshot_every):
        self.loader = StatefulDataLoader(dataset, batch_size=batch_size, drop_last=True)
        self.every = snapshot_every
        self.errors = 0

    def __iter__(self):
        batches = iter(self.loader)
        snapshot, since = self.loader.state_dict(), 0
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except OSError as error:
                log.warning("%s; back to the last snapshot", error)
                self.errors += 1
                self.loader.load_state_dict(snapshot)
                batches, since = iter(self.loader), 0
                continue
            since += 1
            if since == self.every:
                snapshot, since = self.loader.state_dict(), 0
            yield batch
