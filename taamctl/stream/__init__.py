"""Class order, tasks, parts and induced edges."""
