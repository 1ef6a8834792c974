"""Which data sets can be read here."""

from __future__ import annotations

from taamctl.core.data_set import data_set
from taamctl.runtime import raw_files
from taamctl.runtime.job import Context


def is_there(context: Context, dataset: str) -> bool:
    """Tell whether a data set's raw files are there, or none are needed."""
    source = data_set(dataset)
    return not source.meta.files or raw_files.find(context.data_root, source.layouts) is not None
