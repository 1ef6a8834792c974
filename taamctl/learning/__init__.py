"""The method contract, training loop, task-ID inference and prediction."""
