"""TRANSITION"""

from taamctl.runtime.download import *
from taamctl.runtime.raw_files import *
from taamctl.runtime.raw_files import raw_files as _raw


def raw_files(root, module):
    imported = getattr(module, "IMPORTED", None)
    if imported is not None:
        return (imported,)
    return _raw(root, getattr(module, "LAYOUTS", ()), getattr(module, "RAW", ()))
