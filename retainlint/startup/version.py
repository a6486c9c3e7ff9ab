"""The version of this program: asked for by its workers too, who need nothing else of the package."""

__version__ = "0.1.0"
