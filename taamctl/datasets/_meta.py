"""What the file of a data set states: the import path for those who write one."""

from taamctl.core.data_set import Meta, RawFile

__all__ = ["Meta", "RawFile"]
