"""`pydantic`: records whose fields may also be set by the environment."""

import dataclasses

from retainlint.stubs import option

MODULES = ("pydantic", "pydantic.main", "pydantic.fields", "pydantic.v1", "pydantic_settings")


def Field(default=..., *, default_factory=None, **said):
    if default_factory is not None:
        return dataclasses.field(default_factory=default_factory)
    return dataclasses.field(default=default)


@dataclasses.dataclass
class BaseModel:
    def model_copy(self, *, update=None, deep=False):
        return dataclasses.replace(self, **(update or {}))

    def copy(self, *, update=None, **ways):
        return dataclasses.replace(self, **(update or {}))

    def model_dump(self, **ways):
        return dict(vars(self))

    def dict(self, **ways):
        return {**vars(self)}

    @classmethod
    def model_validate(cls, obj, **ways):
        return cls(**obj)

    @classmethod
    def parse_obj(cls, obj):
        return cls(**obj)


@dataclasses.dataclass
class BaseSettings(BaseModel):
    def __post_init__(self):
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if getattr(type(self), name, None) is value:  # nobody gave another
                setattr(self, name, option(value))
