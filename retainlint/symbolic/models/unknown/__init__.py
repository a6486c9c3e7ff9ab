"""What nobody can see, and how far it is trusted."""
