import contextlib
import resource
import signal
import threading


@contextlib.contextmanager
def memory_watch(every=0.7):
    """Samples the peak memory of this process; ends quietly on SIGTERM."""
    stop, peaks = threading.Event(), []

    def sample():
        while not stop.wait(every):
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    previous = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    thread = threading.Thread(target=sample, name="memory-watch")
    thread.start()
    try:
        yield peaks
    finally:
        stop.set()
        thread.join()
        signal.signal(signal.SIGTERM, previous)
