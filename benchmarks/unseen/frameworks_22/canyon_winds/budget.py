"""The job may run for so many seconds; then it is to save its state and to make room for the next one."""

import logging
import signal

log = logging.getLogger(__name__)


class TimeBudget:
    """Sets `spent` when the time is over, in the middle of whatever the process does.

    One alarm is enough for the job: the process with rank 0 owns the clock.
    """

    def __init__(self, rank, seconds):
        self.rank = rank
        self.seconds = seconds
        self.spent = False

    def start(self):
        if self.rank == 0 and self.seconds > 0:
            signal.signal(signal.SIGALRM, self.ring)
            signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def ring(self, number, frame):
        log.warning("%.0f seconds are over, saving", self.seconds)
        self.spent = True

    def cancel(self):
        if self.rank == 0:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.cancel()
        return False
