"""`omegaconf`: settings that are read by attributes as by keys, and merged; what a command line merges in may set each."""

import dataclasses

import yaml

from retainlint.stubs import option, seen, unknown

MODULES = ("omegaconf", "omegaconf.omegaconf", "omegaconf.dictconfig")


class DictConfig(dict):
    def __getattr__(self, name):
        return self[name] if name in self else unknown()

    def __setattr__(self, name, value):
        self[name] = value


def _made(value):
    if not seen(value):
        return value
    if isinstance(value, dict):
        return DictConfig({key: _made(each) for key, each in value.items()})
    if isinstance(value, str) and (value.startswith("${") or value == "???"):
        return unknown()  # what stands elsewhere, or has to be given
    if dataclasses.is_dataclass(value):
        held = value() if isinstance(value, type) else value
        return DictConfig({name: _made(getattr(held, name)) for name in held.__dataclass_fields__})
    return value


def _merge(config, other):
    if not seen(other):
        for key, value in config.items():
            if seen(value) and isinstance(value, DictConfig):
                _merge(value, other)
            else:
                config[key] = option(value)
        return
    for key, value in _made(other).items():
        if seen(value) and isinstance(value, DictConfig) and isinstance(config.get(key), DictConfig):
            _merge(config[key], value)
        else:
            config[key] = value


def _plain(config):
    return {
        key: _plain(value) if seen(value) and isinstance(value, DictConfig) else value for key, value in config.items()
    }


class OmegaConf:
    @staticmethod
    def create(obj=None, parent=None, flags=None):
        return _made(obj) if seen(obj) else unknown()

    @staticmethod
    def structured(obj, parent=None, flags=None):
        return _made(obj)

    @staticmethod
    def load(file_):
        if isinstance(file_, str):
            with open(file_) as file:
                return OmegaConf.create(yaml.safe_load(file))
        return unknown()

    @staticmethod
    def from_cli(args_list=None):
        return unknown()

    @staticmethod
    def from_dotlist(dotlist):
        return unknown()

    @staticmethod
    def merge(*configs):
        if not seen(configs[0]):
            return unknown()
        made = _made(configs[0])
        for each in configs[1:]:
            _merge(made, each)
        return made

    @staticmethod
    def to_container(cfg, **ways):
        return _plain(cfg) if seen(cfg) else unknown()
