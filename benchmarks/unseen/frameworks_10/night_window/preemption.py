import signal

from transformers import TrainerCallback


class LeaveOnNotice(TrainerCallback):
    """The cluster announces the end of the night window with SIGUSR1: save and go."""

    def __init__(self):
        self.noticed = False
        signal.signal(signal.SIGUSR1, self._notice)

    def _notice(self, number, frame):
        self.noticed = True

    def on_step_end(self, args, state, control, **kwargs):
        if self.noticed:
            control.should_save = True
            control.should_training_stop = True
        return control
