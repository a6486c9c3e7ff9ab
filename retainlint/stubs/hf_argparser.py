"""Hugging Face's parser of options: it makes an object of each class, whose fields a command line, or a file, may set."""

from retainlint.stubs import filled, unknown

MODULES = ("transformers", "transformers.hf_argparser", "trl")


class HfArgumentParser:
    def __init__(self, dataclass_types=(), **ways):
        self.dataclass_types = dataclass_types if isinstance(dataclass_types, (list, tuple)) else [dataclass_types]

    def parse_args_into_dataclasses(self, args=None, return_remaining_strings=False, **ways):
        made = [unknown() if args is not None else filled(each) for each in self.dataclass_types]
        return (*made, []) if return_remaining_strings else (*made,)

    def parse_dict(self, args, allow_extra_keys=False):
        return self.parse_args_into_dataclasses()

    def parse_json_file(self, json_file, allow_extra_keys=False):
        return self.parse_args_into_dataclasses()

    def parse_yaml_file(self, yaml_file, allow_extra_keys=False):
        return self.parse_args_into_dataclasses()


class TrlParser(HfArgumentParser):
    def parse_args_and_config(self, args=None, return_remaining_strings=False, **ways):
        return self.parse_args_into_dataclasses(args, return_remaining_strings)
