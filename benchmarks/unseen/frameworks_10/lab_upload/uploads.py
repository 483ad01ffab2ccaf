import queue
import threading
import time

from lightning.pytorch.callbacks import Callback


class LabUpload(Callback):
    """Sends the validation results to the laboratory's archive without holding up the training."""

    def __init__(self, every: int = 1):
        self.every = every
        self.results = queue.Queue()
        self.sent = []
        self.sender = None

    def setup(self, trainer, module, stage):
        if trainer.is_global_zero and self.sender is None:
            self.sender = threading.Thread(target=self._send, name="lab-upload")
            self.sender.start()

    def on_validation_end(self, trainer, module):
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        if trainer.current_epoch % self.every == 0:
            self.results.put({name: value.item() for name, value in trainer.callback_metrics.items()})

    def on_test_end(self, trainer, module):
        if trainer.is_global_zero:
            self.results.put(None)
            self.sender.join()

    def _send(self):
        while True:
            result = self.results.get()
            if result is None:
                return
            time.sleep(0.2)
            self.sent.append(result)
