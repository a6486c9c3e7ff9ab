"""A torch-like face with numbers over the reference core; numpy is imported here and nowhere else."""
