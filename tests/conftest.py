"""Tests use one thread: their networks are tiny, and two threads on a busy machine are ten times slower."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, and for every process a test starts
