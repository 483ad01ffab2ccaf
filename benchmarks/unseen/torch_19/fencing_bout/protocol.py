"""The protocol of all bouts, written beside the training so that a slow disk does not hold it up."""
import logging
import os
import queue
import threading

log = logging.getLogger("protocol")


class Protocol:
    def __init__(self, folder, club, room=200):
        self.path = os.path.join(folder, f"{club}.txt")
        self.bouts = queue.Queue(room)
        self.lines = 0
        self.writer = threading.Thread(target=self._write_bouts, name="protocol", daemon=True)
        self.writer.start()

    def _sheet(self, bout):
        """One line per touch, with the score after it."""
        score = [0, 0]
        for touch in bout.touches:
            score[touch.by] += 1
            yield f"{bout.number}\t{touch.second}s\t{touch.action}\t{score[0]}:{score[1]}\n"

    def _write_bouts(self):
        while True:
            bout = self.bouts.get()
            if not bout.touches:
                log.debug("bout %d: no touch in %d seconds", bout.number, len(bout.actions))
                continue
            with open(self.path, "a") as out:
                for line in self._sheet(bout):
                    out.write(line)
                    self.lines += 1
            self.bouts.task_done()

    def put(self, bout):
        self.bouts.put(bout)

    def close(self):
        """Returns when every bout that was put is on the disk."""
        self.bouts.join()
        return self.lines
