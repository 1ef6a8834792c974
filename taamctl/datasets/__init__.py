"""One file per data set: META and load()."""
