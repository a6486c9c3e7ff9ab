"""The reference autograd core, in torch's own terms; it imports nothing of ours."""
