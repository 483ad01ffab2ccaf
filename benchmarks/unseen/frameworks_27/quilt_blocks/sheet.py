"""Contact sheet of the validation numbers."""
import json
import os
import tempfile

from lightning.pytorch.callbacks import Callback


class BlockSheet(Callback):
    def __init__(self):
        self.path = os.path.join(tempfile.gettempdir(), f"quilt_sheet_{os.getuid()}.json")

    def on_validation_end(self, trainer, module):
        # on every rank, since these numbers are put together across the ranks
        numbers = {name: float(value) for name, value in trainer.callback_metrics.items()}
        if trainer.is_global_zero:
            with open(self.path, "w") as file:
                json.dump({"epoch": trainer.current_epoch, **numbers}, file)
        # nobody starts the next epoch before the sheet lies there
        trainer.strategy.barrier("sheet")

    def on_fit_end(self, trainer, module):
        if trainer.is_global_zero:
            os.unlink(self.path)
