"""torch.nn: modules, parameters, losses."""
