"""How fast the language server answers."""
