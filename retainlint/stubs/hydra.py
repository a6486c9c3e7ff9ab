"""`hydra`: the settings that a class declares are by default what its fields are."""

import omegaconf

from retainlint.stubs import filled

MODULES = ("hydra", "hydra.core.config_store")

_nodes = {}


class ConfigStore:
    @staticmethod
    def instance(*args, **ways):
        return ConfigStore()

    def store(self, name, node, group=None, package=None, provider=None):
        if group is None:
            _nodes[name] = node


def main(config_path=None, config_name=None, version_base=None):
    def decorate(task):
        if config_name not in _nodes:
            return task

        def run(cfg_passthrough=None):
            return task(omegaconf.OmegaConf.structured(filled(_nodes[config_name])))

        return run

    return decorate
