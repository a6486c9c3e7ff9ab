"""`configparser`: what a file of settings says, as texts and what they are read as."""

import ini  # which reads a text by sections, where it is known

MODULES = ("configparser",)


class SectionProxy:
    def __init__(self, values):
        self.values_of = values

    def __getitem__(self, key):
        return self.values_of[key.lower()]

    def __contains__(self, key):
        return key.lower() in self.values_of

    def __iter__(self):
        return iter(self.values_of)

    def __len__(self):
        return len(self.values_of)

    def keys(self):
        return self.values_of.keys()

    def values(self):
        return self.values_of.values()

    def items(self):
        return self.values_of.items()

    def get(self, option, fallback=None, **ways):
        return self.values_of.get(option.lower(), fallback)

    def getint(self, option, fallback=None, **ways):
        return int(self.values_of.get(option.lower(), fallback))

    def getfloat(self, option, fallback=None, **ways):
        return float(self.values_of.get(option.lower(), fallback))

    def getboolean(self, option, fallback=None, **ways):
        return str(self.values_of.get(option.lower(), fallback)).lower() in ("1", "yes", "true", "on")


class ConfigParser:
    optionxform = None  # who sets it, or asks for another way to read, is told nothing

    def __init__(self, *given, **ways):
        self.said, self.given, self.ways = {}, given, ways

    def read(self, filenames, encoding=None):
        with open(filenames) as f:
            self.read_file(f)
        return [filenames]

    def read_file(self, f, source=None):
        said = ini.load(f, *self.given, optionxform=self.optionxform, **self.ways)
        self.said = said if not self.said else {**self.said, **said}

    def read_string(self, string, source=None):
        self.said = ini.loads(string, *self.given, optionxform=self.optionxform, **self.ways)

    def __getitem__(self, key):
        return SectionProxy(self.said[key])

    def __contains__(self, key):
        return key in self.said

    def sections(self):
        return [name for name in self.said if name != "DEFAULT"]

    def has_section(self, section):
        return section in self.said

    def has_option(self, section, option):
        return option.lower() in self.said[section]

    def options(self, section):
        return list(self.said[section])

    def items(self, section=None, **ways):
        return list(self.said[section].items())

    def get(self, section, option, fallback=None, **ways):
        return SectionProxy(self.said[section]).get(option, fallback)

    def getint(self, section, option, fallback=None, **ways):
        return SectionProxy(self.said[section]).getint(option, fallback)

    def getfloat(self, section, option, fallback=None, **ways):
        return SectionProxy(self.said[section]).getfloat(option, fallback)

    def getboolean(self, section, option, fallback=None, **ways):
        return SectionProxy(self.said[section]).getboolean(option, fallback)


RawConfigParser = SafeConfigParser = ConfigParser
