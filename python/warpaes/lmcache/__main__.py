"""Registration of the serde before a module of LMCache is run, as by ``python -m MODULE``."""

from __future__ import annotations

import runpy
import sys

from . import create_serde

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: python -m warpaes.lmcache MODULE [ARGUMENTS]\n{create_serde.__doc__}")
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
