"""Hooks around the batches of a session; a hook that returns False ends the session."""

import logging

log = logging.getLogger("roast")


class Hook:
    def before_session(self, session):
        pass

    def after_batch(self, roast, heat, loss):
        return True


class LossReport(Hook):
    def __init__(self, quiet, every=40):
        self.quiet, self.every = quiet, every
        self.smooth = None

    def after_batch(self, roast, heat, loss):
        self.smooth = loss if self.smooth is None else 0.95 * self.smooth + 0.05 * loss
        if not self.quiet and roast % self.every == 0:
            log.info("roast %d: loss %.5f", roast, self.smooth)
        return True


class SecondCrack(Hook):
    """Beans above this temperature are charcoal, and so are all that follow in the session."""

    def __init__(self, limit=238.0):
        self.limit = limit
        self.session = None

    def before_session(self, session):
        self.session = session

    def after_batch(self, roast, heat, loss):
        if heat > self.limit:
            log.info("session %d: second crack in roast %d, %.0f degrees", self.session, roast, heat)
            return False
        return True
