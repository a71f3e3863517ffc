"""Compare with the golden record: `python tests/golden/check.py [-n 2] [-k GROUP]`."""

import os
import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    root = Path(__file__).parents[2]
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)  # of workers
    sys.path.insert(0, str(root))
    file = str(Path(__file__).parent / "test_golden.py")
    sys.exit(pytest.main([file, "-q", "-m", "slow or not slow", *sys.argv[1:]]))
