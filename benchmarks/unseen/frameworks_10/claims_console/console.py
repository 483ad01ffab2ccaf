import threading
import time

from transformers import TrainerCallback


class LiveConsole(TrainerCallback):
    """Keeps the last figures of the run for the dashboard; a thread redraws it and waits for fresh figures."""

    def __init__(self, refresh: float = 0.25):
        self.refresh = refresh
        self.lock = threading.Lock()
        self.fresh = threading.Event()
        self.figures = {}
        self.screen = ""
        self.painter = threading.Thread(target=self._paint, daemon=True)

    def on_train_begin(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            self.painter.start()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if not state.is_world_process_zero:
            return
        self._take(dict(logs, step=state.global_step))

    def _take(self, figures):
        self.lock.acquire()
        try:
            self.figures.update(figures)
            self.fresh.set()
        finally:
            self.lock.release()

    def _paint(self):
        while True:
            self.fresh.wait()
            time.sleep(self.refresh)
            with self.lock:
                self.fresh.clear()
                self.screen = "  ".join(f"{name}={value}" for name, value in sorted(self.figures.items()))
                if "loss" in self.figures and self.figures["step"] >= 60:
                    self._settle()

    def _settle(self):
        """The loss is drawn as a mean of several logs once the start is over."""
        losses = []
        while len(losses) < 3:
            self.fresh.wait()
            self.fresh.clear()
            losses.append(self.figures["loss"])
        self.screen = f"mean loss {sum(losses) / len(losses):.4f}"
