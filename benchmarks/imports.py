"""What `import ldpstats` adds to importing numpy and pandas."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from timing import Row, Scale

__all__ = ["importing"]

CHILD = """
import time
start = time.process_time()
import numpy, pandas
middle = time.process_time()
import ldpstats
print(middle - start, time.process_time() - middle)
"""


def importing(scale: Scale) -> list[Row]:
    """What importing ldpstats adds, in fresh interpreters, its byte code compiled beforehand."""
    taken = []
    for _ in range(1 + scale.size(15, 5)):
        run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, check=True)
        taken.append([float(word) for word in run.stdout.split()])
    base, added = (median(column) for column in zip(*taken[1:], strict=True))
    figure = f"{added:.3f} s more ({added / base:.2f} of the {base:.3f} s before)"
    return [Row("import ldpstats", "numpy and pandas", figure, "< 0.25 s", added < 0.25)]
