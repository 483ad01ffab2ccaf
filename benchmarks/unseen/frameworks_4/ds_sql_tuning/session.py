import contextlib
import tempfile


class Session:
    def __init__(self, engine, folder=None):
        self.engine = engine
        self.folder = folder or tempfile.gettempdir() + "/sql_tuning"
        self.step = 0

    def persist(self, tag):
        self.engine.save_checkpoint(self.folder, tag=tag, client_state={"step": self.step})


@contextlib.contextmanager
def tuning_session(engine):
    """Whatever ends the run, the last state is on disk afterwards."""
    session = Session(engine)
    try:
        yield session
    finally:
        session.persist("last")
