import html
import os
import time


def render(history, path, pages=60, pause=0.3):
    """One page for each stretch of the run. The plots are drawn one after the other."""
    with open(path, "w") as out:
        out.write("<html><body>\n")
        for page in range(pages):
            rows = history[page % len(history)]
            out.write(f"<h2>page {page}</h2><p>{html.escape(str(rows))}</p>\n")
            time.sleep(pause)
        out.write("</body></html>\n")
    return os.path.getsize(path)
