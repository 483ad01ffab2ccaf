"""Episodes are recorded by a process of its own, so that writing films does not slow down the learner."""
import json
import multiprocessing
import os
import tempfile


def write_films(episodes, path, reel):
    """Writes episodes until the reel is full."""
    with open(path, "w") as film:
        for number in range(reel):
            frames = episodes.get()
            if frames is None:
                break
            json.dump({"episode": number, "frames": [[round(v, 3) for v in frame] for frame in frames]}, film)
            film.write("\n")
    os.replace(path, path + ".done")


class Recorder:
    """Hands episodes to the writer through a queue; the film is in a folder that goes with the recorder."""

    def __init__(self, reel):
        self.folder = tempfile.TemporaryDirectory(prefix="films_")
        self.episodes = multiprocessing.Queue()
        path = os.path.join(self.folder.name, "reel.jsonl")
        self.writer = multiprocessing.Process(target=write_films, args=(self.episodes, path, reel), daemon=True)
        self.writer.start()
        self.count = 0

    def record(self, frames):
        self.episodes.put(frames)
        self.count += 1

    def close(self):
        """Everything that was recorded is written before the folder goes."""
        self.episodes.put(None)
        self.episodes.close()
        self.episodes.join_thread()
        self.writer.join()
        self.folder.cleanup()
