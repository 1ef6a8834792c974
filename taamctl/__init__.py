"""taamctl: graph class-incremental learning as a staged, cacheable pipeline."""
