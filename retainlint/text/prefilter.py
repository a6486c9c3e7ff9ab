"""The prefilter: which texts may lead to a backward pass, told by their bytes alone, before anything is parsed."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator
from typing import NamedTuple

from retainlint.startup.lazy_patterns import pattern
from retainlint.text import is_notebook, stubs
from retainlint.text import name_guesses as guesses
from retainlint.text.recalling import recalled

KERNELS = ("torch", "aten", "prims")
"""What torch's own functions begin with, each of which computes one gradient: `torch.ops.aten.convolution_backward`."""

TRAINER = "Trainer"

_ANY = rf"(?=\w*backward\b)(?!{guesses.SPEAKS.names}\b)"

_ITSELF = rf"\.\s*{_ANY}\w*backward\b|(?<!def )\b{_ANY}\w*backward\s*\(|(?<!def )\bgrad\s*\("


class Others(NamedTuple):
    """What walks without the word: `steps` are methods whose result a trainer walks, and `callers` walk when they are
    called. `spelt` is a pattern of both, and for bytes that of both and of callers alone."""

    steps: tuple[str, ...]
    callers: tuple[str, ...]
    words: tuple[bytes, ...]
    spelt: str
    both: re.Pattern[bytes]
    calls: re.Pattern[bytes]


@stubs.by_stubs
def others() -> Others:
    """Timm's scalers, the methods of trainers, and what stubs say."""
    steps = stubs.words("steps")
    callers = (*guesses.LOSS_SCALER.examples, *stubs.words("called"))
    calls = rf"(?:{'|'.join(callers)})[ \t]*\("
    spelt = rf"def[ \t]+(?:{'|'.join(steps)})[ \t]*\(|{calls}"
    words = tuple(word.encode() for word in (*callers, *steps))
    return Others(steps, callers, words, spelt, pattern(spelt.encode()), pattern(calls.encode()))


def backward() -> str:
    """A pattern of `loss.backward`, `manual_backward(loss)`, `autograd.grad(...)`; not `def grad(...)`, nor
    `ctx.save_for_backward(x)`. Comments and texts count too. So do `others`, and what `trained` tells. `may_backpropagate`
    tells as much of bytes."""
    return f"{_ITSELF}|{others().spelt}"


BACKPROPAGATING = (b"backward", b"manual_backward", b"run_backward")
"""What walks wherever it is defined."""

NEAR = 120
"""So many bytes before a name tell what is done with it."""

_WORD_BYTES = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") | frozenset(range(128, 256))
_DOTTED_BYTES = _WORD_BYTES | frozenset(b".")
_SPACE = frozenset(b" \t\r\n\f\v")
_DOT, _LENGTH = ord("."), len("backward")

_BACKWARD = pattern(rb"backward(?![0-9A-Za-z_\x80-\xff])(\s*\()?")
_ONLY_SPEAKS = pattern(guesses.SPEAKS.names)
_OF_CLASS = pattern(guesses.OF_CLASS.names)
_JUDGED = pattern(rb"\s*(?::(?!=)|is\b|[!=]=)")
_ASKED = pattern(rb"(?:\bis|\bnot|[!=]=)\s*[\w.]*\Z")
_BINDS = pattern(rb"\b(?:for|lambda)\b")
_CLASS = pattern(rb"^class\b", re.MULTILINE)
_OF_OBJECT = pattern(rb"\s*\([ \t\n]*self\b")
_GRAD = pattern(rb"grad\s*\(")
_TRAINING = pattern(rb"[\w)\]]\.(?:%s)\(" % guesses.TRAINING.names.encode())
_METHODS = guesses.TRAINING.names.encode().split(b"|")
_KEPT = guesses.KEPT.names.encode()
_KEEPS = pattern(
    rb"(?:\+=|=[ \t]*[\w.]+[ \t]*\+)[ \t]*" + _KEPT + rb"[ \t]*(?:$|#|\r|\\n)|\.append\([ \t]*" + _KEPT + rb"[ \t]*\)",
    re.MULTILINE,
)
_PREDICTS = pattern(
    rb"(?:\b(\w+)[ \t]*=[ \t]*|\.append\([ \t]*)(?:\w+\.)*(?:%s)\([^\n]*" % guesses.MODEL.names.encode()
)
"""A call of a network which is bound to a name, or put into a list, and what stands behind it in its row."""
_NETWORKS = tuple(b"%s(" % each.encode() for each in guesses.MODEL.examples)
_GRADIENTS_OFF = (b"no_grad", b"inference_mode", b"set_grad_enabled")
_CUTS = (b"detach", b"numpy", b"item(", b"tolist", b"argmax")
_PUT = pattern(rb"\.append\([ \t]*(\w+)[ \t]*\)")
_LEAF = pattern(rb"requires_grad[ \t]*=[ \t]*True|requires_grad_\(|\bParameter\(")
_IN_PLACE = rb"\.(?!%s\()[a-z]\w*[a-z\d]_\(" % guesses.UNCHANGING.names.encode()
_CHANGES = pattern(_IN_PLACE + rb"|[\w\])][ \t]*[-+*/]=[^=]", re.MULTILINE)
_CHANGES_WEIGHTS = pattern(
    rb"\.(?:%s)(?:\[[^\]\n]{0,80}\])?(?:%s|[ \t]*[-+*/]=|(?<=\])[ \t]*=[^=])"
    % (guesses.OF_LAYER.names.encode(), _IN_PLACE)
)
_READS_WEIGHT = pattern(
    rb"\.(?:%s)\b(?:(?=\.(?:view|reshape|flatten|squeeze|unsqueeze|t|transpose|permute)\()|(?![ \t]*[.(=]))"
    rb"|[\"'](?:%s)[\"'][ \t]*[,)]" % ((guesses.OF_LAYER.names.encode(),) * 2)
)
_BOUND_TO = pattern(rb"(?<!\w)(\w+)[ \t]*:?=[ \t]*(?:[\w.]+(?:\[[^\]]*\])?|getattr\([\w.]+,[ \t]*)\Z")
"""A name, and what is bound to it up to where a weight is read."""
_CHANGES_NAME = pattern(
    rb"(?<![\w.])(\w+)(?:\[[^\]\n]{0,80}\])?(?:%s|[ \t]*[-+*/]=[^=]|(?<=\])[ \t]*=[^=])" % _IN_PLACE
)
_CHANGES_ITSELF = pattern(rb"(?<!\binit)(?<!\bgrad)" + _IN_PLACE)
_DOES = pattern(rb"^[A-Za-z_][\w.]*\(", re.MULTILINE)
"""A statement outside of functions that is nothing but a call: a module that only defines things has none."""
_CALLING = pattern(rb"^(?!(?:def|class|from|import|async)\b)[A-Za-z_][^\n(#]*\([^\n]*", re.MULTILINE)
"""A row outside of functions in which something is called."""
_CALLED = pattern(rb"(?<![\w.])([A-Za-z_]\w*)\(")
_LAUNCHED, _TRAINS = (
    pattern(rb"^(?:async[ \t]+)?def[ \t]+(?:%s)[ \t]*\(" % each.names.encode(), re.MULTILINE)
    for each in (guesses.STARTED, guesses.TRAINS)
)
_COMMAND = pattern(rb"\.parse_(?:known_)?args\(|^@[\w.]*\bcommand\b", re.MULTILINE)
"""What the command line is asked for, or a function that is one of its commands."""
_MAKES = pattern(rb"^[ \t]+\w+[ \t]*=[ \t]*[A-Z]\w*\(", re.MULTILINE)
"""An object that a function makes."""
_RELATIVE = pattern(rb"^from[ \t]+\.", re.MULTILINE)
_OPTIMISERS = pattern(rb"optim(?<![A-Za-z]optim)(?:izer|iser)?s?(?![A-Za-z])")  # looked for by its first letters


# -- all of a file ------------------------------------------------------------------------------------------------


def may_matter(name: str, data: bytes) -> bool:
    """Whether a file's check needs more than a look at its bytes."""
    return (
        may_hold_backward(name, data)
        or may_start_backward(data)
        or may_lead_to_backward(data)
        or may_keep_graphs(data)
        or may_change_leaves(data)
    )


def may_keep_graphs(data: bytes) -> bool:
    """Whether a file that walks nothing may keep the graphs of its losses, as a validation loop does: it adds them up, or
    puts them into a list, as they are, or what a network predicts, and nowhere turns gradients off."""
    if b"torch" not in data or any(each in data for each in _GRADIENTS_OFF):
        return False
    return _KEEPS.search(data) is not None or _keeps_predictions(data)


def _keeps_predictions(data: bytes) -> bool:
    """Whether what a network gives may be put into a list, with its graph."""
    if b".append(" not in data or not any(each in data for each in _NETWORKS):
        return False
    predicted = {each[1] for each in _PREDICTS.finditer(data) if not any(cut in each[0] for cut in _CUTS)}
    return None in predicted or any(each[1] in predicted for each in _PUT.finditer(data))


def may_change_leaves(data: bytes) -> bool:
    """Whether a file that backpropagates nothing may change a leaf in place, which fails where it stands."""
    if b"torch" not in data:
        return False
    if _CHANGES_WEIGHTS.search(data) is not None or (
        _LEAF.search(data) is not None and _CHANGES.search(data) is not None
    ):
        return True
    bound = set(_bound_to_weights(data))
    if bound and any(each[1] in bound for each in _CHANGES_NAME.finditer(data)):
        return True
    if b"parameters(" not in data or b"no_grad" in data or b".data" in data:
        return False
    return _CHANGES_ITSELF.search(data) is not None


def _bound_to_weights(data: bytes) -> Iterator[bytes]:
    """The names to which a layer's weights are bound: `w = layer.weight`."""
    for each in _READS_WEIGHT.finditer(data):
        near = max(0, each.start() - NEAR)
        row = max(near, data.rfind(b"\n", near, each.start()) + 1)
        if found := _BOUND_TO.search(data[row : each.start()]):
            yield found[1]


def may_hold_backward(name: str, data: bytes) -> bool:
    """Whether a walk may stand in a file. A notebook's cells are JSON: any character may be escaped."""
    if is_notebook(name):
        return b"backward" in data or b"grad" in data or b"\\u00" in data
    return may_backpropagate(data) or b"\0" in data


def may_start_backward(data: bytes) -> bool:
    """Whether a file is a script, which may start walks that stand in other files: it says so, or it loops, trains or calls
    a function of its own or an imported one outside of functions, and imports nothing relatively, which no script can.
    Comments and texts tell nothing."""
    if not _may_be_script(data):
        return False
    text = code(data)
    return b"__main__" in text or (_RELATIVE.search(text) is None and _may_be_script(text))


def _may_be_script(data: bytes) -> bool:
    if b"__main__" in data or b"\nfor " in data or b"\nwhile " in data:
        return True
    trains, has_torch = any(b".%s(" % word in data for word in _METHODS), b"torch" in data
    rows = [found[0] for found in _CALLING.finditer(data)] if trains or has_torch else []
    if trains and any(map(_TRAINING.search, rows)):
        return True
    does = has_torch and _DOES.search(data) is not None
    return does and any(_binds(data, name) for name in {each for row in rows for each in _CALLED.findall(row)})


def _binds(data: bytes, name: bytes) -> bool:
    """Whether a text defines a function, or imports it, be it with all else of a module."""
    given = rb"^(?:def|from|import)\b[^\n]*\b%s\b|^from\b[^\n]*\bimport[ \t]*\*" % name
    return re.search(given, data, re.MULTILINE) is not None


def may_lead_to_backward(data: bytes) -> bool:
    """Whether functions of a file may call walks that stand in other files: it speaks of torch, and of optimisers or the
    command line, or defines what somebody else starts; without torch, a function that trains what it makes."""
    if b"import " not in data or b"def " not in data:
        return False
    if b"torch" not in data:
        return _TRAINS.search(data) is not None and _MAKES.search(data) is not None
    at = data.find(b"optim")
    return any(each.search(data) is not None for each in (_LAUNCHED, _COMMAND)) or (
        at >= 0 and _OPTIMISERS.search(data, at) is not None
    )


def may_backpropagate(data: bytes, steps: bool = True) -> bool:
    """Whether `backward()` may be found in bytes, several times as fast, since it looks for whole words first; without
    `steps` those don't count."""
    return any(each.walks for each in _mentions(data)) or _is_walked_otherwise(data, steps)


def _is_walked_otherwise(data: bytes, steps: bool) -> bool:
    """The same but for the word `backward`."""
    other = others()
    for word in other.words if steps else other.words[: len(other.callers)]:
        if word in data:
            if (other.both if steps else other.calls).search(data) is not None:
                return True
            break
    if b"grad" in data:
        for found in _GRAD.finditer(data):
            start = found.start()
            if (start == 0 or data[start - 1] not in _WORD_BYTES) and data[max(start - 4, 0) : start] != b"def ":
                return True
    may_train = any(all(word in data for word in each.words) for each in trainers())
    return may_train and any(trained(data.decode(errors="replace")))


_BELOW = r"[\w.]*"


class _Trainer(NamedTuple):
    """Where a trainer is imported from, by its name if that counts, and the method whose losses it walks."""

    package: str
    name: str
    method: str

    @property
    def words(self) -> tuple[bytes, ...]:
        """What a text must hold."""
        return tuple(word.encode() for word in (self.package, self.name, self.method))

    @property
    def patterns(self) -> tuple[re.Pattern[str], re.Pattern[str] | None, re.Pattern[str]]:
        imported = rf"\bfrom[ \t]+{self.package}{'' if self.name else _BELOW}[ \t]+import\b"
        name = re.compile(rf"\b{self.name}\b") if self.name else None
        return re.compile(imported), name, re.compile(rf"\bdef[ \t]+{self.method}\b")


@stubs.by_stubs
def trainers() -> tuple[_Trainer, ...]:
    """Hugging Face's, and those of stubs."""
    return _Trainer("transformers", TRAINER, "forward"), *(
        _Trainer(each, "", name) for each, name in stubs.overridden()
    )


def trained(text: str) -> Iterator[tuple[int, int]]:
    """Where a text imports what walks losses that it defines itself. Each pattern goes through the text once: taken
    together they would go through the rest of it from each import."""
    for imported, trainer, method in (each.patterns for each in trainers()):
        last = max((found.start() for found in method.finditer(text)), default=0)
        names = [found.span() for found in trainer.finditer(text)] if trainer is not None and last else []
        end, bracket = 0, -1
        for found in imported.finditer(text, 0, last):
            if found.start() < end:
                continue
            if trainer is None:
                yield found.span()
                continue
            if bracket < found.end():
                bracket = text.find(")", found.end()) % (len(text) + 1)  # where none follows, behind the end
            at = bisect_left(names, (found.end(), 0))
            if at < len(names) and names[at][0] < bracket and names[at][1] <= last:
                end = names[at][1]
                yield found.start(), end


# -- the word -----------------------------------------------------------------------------------------------------


class _Mention(NamedTuple):
    """A name that ends with `backward`: where it starts and ends, where the dot is before it (-1 for none), and whether
    a bracket stands behind it."""

    text: bytes
    start: int
    end: int
    dot: int
    is_called: bool

    @property
    def name(self) -> bytes:
        return self.text[self.start : self.end]

    @property
    def is_defined(self) -> bool:
        return self.text[max(self.start - 4, 0) : self.start] == b"def "

    @property
    def walks(self) -> bool:
        """Whether it may be a walk, for all that is seen of it alone."""
        may = self.dot >= 0 or (self.is_called and not self.is_defined)
        return may and not only_speaks(self.name.decode(errors="replace"))

    @property
    def chain(self) -> int:
        """Where the dotted name starts whose last part it is, if it isn't long."""
        return _behind(self.text, self.start, _DOTTED_BYTES, NEAR)

    @property
    def owner(self) -> int:
        """Where the word starts that stands before the dot."""
        return _behind(self.text, self.dot, _WORD_BYTES)

    @property
    def is_kernel(self) -> bool:
        """Whether it is one of torch's own functions, which walk nothing for all their names."""
        if self.dot < 0 or self.name in BACKPROPAGATING or not self.name.endswith(b"_backward"):
            return False
        root, _, _ = self.text[self.chain : self.start].partition(b".")
        return root.decode(errors="replace") in KERNELS

    def is_asked(self, own: Container[bytes]) -> bool:
        """Whether it isn't called here, nor can be elsewhere: what is compared, stands before a colon, or is a class's own;
        and an option of such a name, which no function of the text has (`own` are those that it defines)."""
        if self.is_called or self.dot < 0:
            return False
        if self.name not in BACKPROPAGATING[:2] and (self.name not in own or not self.walks):
            return True
        start = self.owner
        if is_of_class(self.text[start : self.dot].decode(errors="replace")):
            return True
        row = self.text[max(self.start - NEAR, 0) : start].rpartition(b"\n")[2]
        if _JUDGED.match(self.text, self.end):
            return _BINDS.search(row) is None
        return _ASKED.search(row) is not None


def _mentions(data: bytes) -> Iterator[_Mention]:
    if b"backward" in data:
        for found in _BACKWARD.finditer(data):
            start = _behind(data, found.start(), _WORD_BYTES)
            dot = _behind(data, start, _SPACE) - 1
            is_dot = dot >= 0 and data[dot] == _DOT
            yield _Mention(data, start, found.start() + _LENGTH, dot if is_dot else -1, found[1] is not None)


def _behind(data: bytes, at: int, kind: frozenset[int], most: int = sys.maxsize) -> int:
    """Where the bytes of a kind start that end at `at`, if they are no more than that."""
    first = max(at - most, 0)
    while at > first and data[at - 1] in kind:
        at -= 1
    return at


def only_speaks(name: str) -> bool:
    """Whether a name that ends in `backward` is that of a question, a switch or a hook."""
    return _ONLY_SPEAKS.fullmatch(name) is not None


def is_of_class(owner: str) -> bool:
    """Whether something is named like a class with a `backward` of its own."""
    return _OF_CLASS.fullmatch(owner) is not None


# -- the code of a text -------------------------------------------------------------------------------------------

_TRIPLED = (b'"""', b"'''")

_SPOKEN = pattern(
    rb"(#[^\n]*"
    rb'|"(?:""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|\\?\Z)|[^"\\\n]*(?:\\.[^"\\\n]*)*"?)'
    rb"|'(?:''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|\\?\Z)|[^'\\\n]*(?:\\.[^'\\\n]*)*'?))",
    re.DOTALL,
)
"""Comments and texts. One that ends nowhere is one to the end, or to its row's: else that would be looked for from each quote."""

_NAMES = pattern(rb"[\w.:]+")
_COMPUTED = pattern(rb"\{([^{}]+)\}")


def may_spell_backward(data: bytes, steps: bool = True) -> bool:
    """Whether a walk may be spelt in a text, and not only be spoken of in a comment or a text; without `steps` whether one
    may but for what a trainer walks."""
    if not may_backpropagate(data, steps):
        return False
    text = code(data)
    if any(mark in text for mark in _TRIPLED):
        return True  # a text that can't be read so has some left
    return _is_walked_otherwise(text, steps) or any(each.walks for each in _doubtful(text))


def _doubtful(text: bytes) -> list[_Mention]:
    """What may walk in a text's code. The calls of functions, and of an object's own methods, that it defines itself, such
    as `x_backward(...)`, walk something only if a walk stands elsewhere in it, unless it speaks of one but in a call, or in
    the definition."""
    every = [each for each in _mentions(text) if not each.is_kernel]
    defined = [each for each in every if each.is_defined and each.is_called]
    names = {each.name for each in defined}
    left = [each for each in every if not each.is_asked(names)]
    names.difference_update(BACKPROPAGATING)
    if not names:
        return left
    classes = [found.start() for found in _CLASS.finditer(text)]
    functions = {each.name for each in defined if _OF_OBJECT.match(text, each.end) is None} & names
    methods = {(each.name, bisect_right(classes, each.start)) for each in defined if each.name not in functions}

    def is_own(one: _Mention) -> bool:
        if one.dot < 0:
            return one.is_called and (one.is_defined or one.name in functions)
        is_self = text[one.chain : one.dot] == b"self"
        return one.is_called and is_self and (one.name, bisect_right(classes, one.start)) in methods

    others = [each for each in every if not is_own(each)]
    return left if any(each.name in names for each in others) else [each for each in left if not is_own(each)]


@recalled
def spoken(data: bytes) -> str:
    """A text without its comments, without texts that are no names, without torch's kernels, and without walks that are
    only asked about: their words stay, behind a comma."""
    text = code(data)
    own = {each.name for each in _mentions(text) if each.is_defined and each.is_called}
    kept: list[bytes] = []
    at = 0
    for each in _mentions(text):
        if each.is_kernel:
            kept.append(text[at : each.chain])
            at = each.end
        elif each.is_asked(own):
            kept += (text[at : each.dot], b",")
            at = each.dot + 1
    return b"".join((*kept, text[at:])).decode(errors="replace")


@recalled
def code(text: bytes) -> bytes:
    """A text without its comments, and without texts that are no names."""
    pieces = _SPOKEN.split(text)  # what is spoken stands between what is code
    for number in range(1, len(pieces), 2):
        spoken = pieces[number]
        if spoken[:1] == b"#":
            pieces[number] = b""
        elif (quote := spoken[:3] if spoken[:3] in _TRIPLED else spoken[:1]) != spoken[len(quote) :][-len(quote) :]:
            continue  # it ends nowhere
        elif not spoken[1:-1].isalnum():  # most texts that are are names
            pieces[number] = _short(spoken, pieces[number - 1][-2:].lower())
    return b"".join(pieces)


def _short(spoken: bytes, before: bytes) -> bytes:
    """What is left of a text behind two letters: a name, for `getattr` or a table, and what is computed within."""
    computed = b'"%s"' % b" ".join(_COMPUTED.findall(spoken)) if b"{" in spoken else b""
    if spoken[:3] in _TRIPLED:
        computes = before[-1:] in (b"f", b"t") or before in (b"fr", b"tr")
        return computed if computes else b""
    return spoken if _NAMES.fullmatch(spoken, 1, len(spoken) - 1) else computed or b'""'
