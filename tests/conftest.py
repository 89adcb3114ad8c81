"""Makes the builders of the scheduler's tests importable everywhere."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "unit" / "sched"))
