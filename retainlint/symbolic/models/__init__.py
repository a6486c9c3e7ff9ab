"""What torch, torch.nn, optimisers, trainers and builtins do to values; data where it can be."""
