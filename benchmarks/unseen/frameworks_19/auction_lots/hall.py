"""What goes on in the hall: the list of estimates, and the messages to the bidders."""

import queue
import subprocess
import sys
import threading
import time

from transformers import TrainerCallback

TYPESETTER = """
import sys, time
pages = int(sys.argv[1])
for page in range(pages):
    time.sleep(0.5)
    print("page", page + 1)
"""


class PrintEstimates(TrainerCallback):
    """Has the estimates typeset after each evaluation. One copy is enough, so the main process sees to it."""

    def __init__(self, pages):
        self.pages = pages

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        if not state.is_world_process_zero:
            return
        command = [sys.executable, "-c", TYPESETTER, str(self.pages)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as typesetter:
            pages = typesetter.stdout.readlines()
        print(f"step {state.global_step}: loss {metrics['eval_loss']:.4f}, {len(pages)} pages", flush=True)


class TellBidders(TrainerCallback):
    """Letters to the bidders are written by a thread; training ends when the last one is in the post."""

    def __init__(self, every, writing):
        self.every = every
        self.writing = writing
        self.letters = queue.Queue()
        self.clerk = None

    def write(self):
        while self.letters.get() is not None:
            time.sleep(self.writing)

    def on_train_begin(self, args, state, control, **kwargs):
        if args.process_index == 1:
            self.clerk = threading.Thread(target=self.write, name="clerk")
            self.clerk.start()

    def on_step_end(self, args, state, control, **kwargs):
        if self.clerk and state.global_step % self.every == 0:
            self.letters.put(state.global_step)

    def on_train_end(self, args, state, control, **kwargs):
        if self.clerk:
            self.letters.put(None)
            self.clerk.join()
