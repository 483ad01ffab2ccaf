from collections import defaultdict, deque

import comm


class EventStorage:
    def __init__(self, window=20):
        self._history = defaultdict(lambda: deque(maxlen=window))

    def put_scalars(self, **scalars):
        for name, value in scalars.items():
            self._history[name].append(float(value))

    def smoothed(self):
        local = {name: sum(h) / len(h) for name, h in self._history.items()}
        return comm.reduce_dict(local)
