"""torch.optim: optimisers and their schedules."""
