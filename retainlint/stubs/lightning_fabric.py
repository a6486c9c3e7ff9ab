"""Lightning's Fabric hands back what it sets up, and walks losses."""

MODULES = ("lightning", "lightning.fabric", "lightning.fabric.fabric", "lightning_fabric")


class Fabric:
    def setup(self, *given, **options):
        return given[0] if len(given) == 1 else given

    setup_module = setup_optimizers = setup_dataloaders = setup

    def backward(self, tensor, *args, model=None, **options):
        tensor.backward(*args, **options)
