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
    def __init__(self, **data):
        self._fill({name: getattr(self, name) for name in self.__dataclass_fields__}, data)

    def _fill(self, usual, data):
        given = {**usual, **data}
        for name in usual:
            setattr(self, name, given[name])

    def model_copy(self, *, update=None, **ways):
        return dataclasses.replace(self, **(update or {}))

    copy = model_copy

    def model_dump(self, **ways):
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def dict(self, **ways):
        return self.model_dump()

    @classmethod
    def model_validate(cls, obj, **ways):
        return cls(**obj)

    parse_obj = model_validate


@dataclasses.dataclass
class BaseSettings(BaseModel):
    def __init__(self, **data):
        self._fill({name: option(getattr(self, name)) for name in self.__dataclass_fields__}, data)
