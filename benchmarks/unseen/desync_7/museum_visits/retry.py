import logging

log = logging.getLogger(__name__)


class Retry:
    """Calls a function again when it raises one of `errors`, after `repair` was called."""

    def __init__(self, function, errors, repair, times=2):
        self.function, self.errors, self.repair = function, errors, repair
        self.times = times
        self.repaired = 0

    def __call__(self, *arguments):
        for attempt in range(self.times):
            try:
                return self.function(*arguments)
            except self.errors as error:
                if attempt == self.times - 1:
                    raise
                log.info("%s, once more", error)
                self.repair()
                self.repaired += 1


class PageFull(Exception):
    pass


class Ledger:
    """Which visitors with an audio guide were seen, page by page."""

    def __init__(self, lines):
        self.lines = lines
        self.page = []
        self.pages = 0

    def write(self, visitors):
        if len(self.page) + len(visitors) > self.lines:
            raise PageFull(f"page {self.pages} is full")
        self.page.extend(visitors)

    def turn(self):
        self.pages += 1
        self.page = []
