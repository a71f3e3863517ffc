"""Write the golden record: `python tests/golden/write.py [GROUP ...]`."""

import os
import sys
import time
import warnings
from pathlib import Path


def main(names: list[str]) -> None:
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path[:0] = [str(Path(__file__).parents[i]) for i in (1, 2)]
    from golden.groups import GROUPS, write

    warnings.simplefilter("ignore")
    for group in names or GROUPS:
        start = time.process_time()
        n = write(group)
        print(f"{group}: {n} entries, {time.process_time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
