"""Dicts behind one another, as one."""

MODULES = ("collections",)


class ChainMap(dict):
    def __init__(self, *maps):
        super().__init__()
        self.maps = list(maps)
        for each in reversed(maps):
            self.update(each)

    def new_child(self, m=None):
        return ChainMap(m or {}, self)
