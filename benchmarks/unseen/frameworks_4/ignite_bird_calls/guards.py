import functools
import logging

logger = logging.getLogger("birds")


def forgiving(limit):
    """Recordings from the field are sometimes broken; give up only after `limit` of them."""

    def wrap(update):
        broken = []

        @functools.wraps(update)
        def inner(engine, batch):
            try:
                return update(engine, batch)
            except RuntimeError as e:
                broken.append(engine.state.iteration)
                logger.warning("iteration %d: %s", engine.state.iteration, str(e).splitlines()[0])
                if len(broken) > limit:
                    raise
                return None

        return inner

    return wrap
