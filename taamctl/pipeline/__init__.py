"""The DAG seen from outside: which code a stage depends on."""
