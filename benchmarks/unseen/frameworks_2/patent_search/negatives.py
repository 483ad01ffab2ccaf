"""Index of hard negatives on disk. Searchers outside the job read it, hence the lock file."""
import os
import time

import torch


class FolderLock:
    def __init__(self, folder, poll=0.2):
        self.path = folder / "WRITING"
        self.poll = poll

    def acquire(self):
        while True:
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                return
            except FileExistsError:
                time.sleep(self.poll)

    def release(self):
        self.path.unlink()


class NegativeIndex:
    def __init__(self, folder, dim=20):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.lock = FolderLock(folder)
        self.vectors = torch.zeros(1, dim)
        self.inbox = []

    def __len__(self):
        return len(self.vectors)

    def file(self, vectors):
        if len(vectors):
            self.inbox.append(vectors)

    def sample(self, n):
        return self.vectors[torch.randint(len(self.vectors), (n,))]

    def refresh(self):
        self.lock.acquire()
        if not self.inbox:
            return
        self.vectors = torch.cat([self.vectors, *self.inbox])
        self.inbox = []
        torch.save(self.vectors, self.folder / "vectors.pt")
        self.lock.release()
