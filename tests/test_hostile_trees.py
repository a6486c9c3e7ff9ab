"""Trees that others made: links to what never ends, caches and settings that lead elsewhere, modules that wait to be imported."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import write

ROOT = Path(__file__).resolve().parent.parent
TWICE = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n"
FOUND = "a.py:5:1: RTL102 error:"

posix = pytest.mark.skipif(os.name == "nt", reason="needs links, pipes and devices")


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tree").mkdir()
    monkeypatch.chdir(tmp_path / "tree")
    write("a.py", TWICE)
    return tmp_path / "tree"


def retainlint(*words: str, seconds: float = 60) -> tuple[int, str, str]:
    """Run it in a process of its own that may take two gigabytes."""
    bound = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); " if os.name != "nt" else ""
    code = f"import sys; {bound}from retainlint.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=seconds, env=environment()
    )
    return done.returncode, done.stdout, done.stderr


def environment() -> dict[str, str]:
    """Not PYTHONUNBUFFERED, with which Python itself doesn't tell that a reader went away in the middle of a piece."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "PYTHONPATH": str(ROOT)}


def concise(*words: str) -> tuple[int, str, str]:
    return retainlint("check", "-q", "--output-format", "concise", *words)


# -- what never ends -----------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("what", ["/dev/zero", "pipe"])
@pytest.mark.parametrize("name", [".gitignore", "b.py", "pyproject.toml", "retainlint.toml", "b.ipynb", "inner"])
def test_a_link_to_what_never_ends_is_left_alone(name: str, what: str) -> None:
    os.mkdir(".git")
    if what == "pipe":
        os.mkfifo(name)
    else:
        os.symlink(what, name)
    code, out, _ = concise("--no-cache", ".")
    assert code == 1 and out.startswith(FOUND) and out.count("\n") == 1


@posix
def test_what_never_ends_and_was_asked_for_is_told() -> None:
    os.symlink("/dev/zero", "b.py")
    code, out, _ = concise("--no-cache", "b.py")
    assert (code, out.count("too large")) == (1, 1)


@posix
@pytest.mark.parametrize("setting", ["extend", "baseline"])
@pytest.mark.parametrize("what", ["/dev/zero", "pipe"])
def test_settings_lead_to_files(setting: str, what: str) -> None:
    os.mkfifo("pipe")
    write("retainlint.toml", f'{setting} = "{what}"\n')
    code, _, err = concise("--no-cache", ".")
    assert code == 2 and "is no file" in err and err.count("\n") == 1


def test_a_file_larger_than_any_text_is_told(tree: Path) -> None:
    with open("b.py", "wb") as file:
        file.write(TWICE.encode())
        file.truncate(60_000_000)
    code, out, _ = concise("--no-cache", ".")
    assert code == 1 and "b.py:1:1: RTL900 error: not checked: the file is too large" in out


def test_a_text_of_too_many_words_is_told() -> None:
    write("b.py", "x = [\n" + "    [1, 2, 3, 'abc'],\n" * 20_000 + "]\n" + TWICE)
    code, out, _ = concise("--no-cache", ".")
    assert code == 1 and "b.py:1:1: RTL900 error: not checked: the file is too long to be checked: 2" in out


# -- settings that a program loads ---------------------------------------------------------------------------------

LOADS = """\
import json, torch
with open({path!r}) as file:
    hp = json.load(file)
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward(retain_graph=hp["keep"])
loss.backward()
"""
LOADED = "b.py:7:1: RTL102 warning:"


@posix
@pytest.mark.parametrize(
    "way", ["{outside}/hp.json", "../mine/hp.json", "link.json", "up/mine/hp.json", "inner/../../mine/hp.json"]
)
def test_settings_out_of_a_tree_are_not_read(way: str, tree: Path) -> None:
    """What they say doesn't show: a file of the tree that says the same would clear the program."""
    place = elsewhere(tree)
    (place / "hp.json").write_text('{"keep": true}')
    os.mkdir("inner")
    os.symlink("../mine/hp.json", "link.json")
    os.symlink("..", "up")
    os.remove("a.py")
    write("b.py", LOADS.format(path=way.format(outside=place)))
    assert concise("--no-cache", ".")[1].startswith(LOADED)
    write("hp.json", '{"keep": true}')
    write("b.py", LOADS.format(path="hp.json"))
    assert concise("--no-cache", ".")[0] == 0


@posix
@pytest.mark.parametrize(
    "what", ["/dev/zero", "/etc/passwd", "pipe", "directory", "large", "x\0y", "x" * 5_000, "\ud800", ""]
)
def test_settings_that_are_no_text_end_well(what: str) -> None:
    os.remove("a.py")
    os.mkfifo("pipe")
    os.mkdir("directory")
    with open("large", "wb") as file:
        file.truncate(60_000_000)
    for path in (what, "link"):
        if path == "link" and 0 < len(what) < 100 and what.isprintable():
            os.symlink(what, "link")
        write("b.py", LOADS.format(path=path))
        code, out, err = concise("--no-cache", ".")
        assert (code, out.startswith(LOADED), out.count("\n"), err) == (1, True, 1, "")


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 19_000,
        b'{"keep": ' * 2_000 + b"1" + b"}" * 2_000,
        b'{"keep": true, "keep": false}',
        b'{"keep": NaN, "keep": false, "x": -Infinity}',
        b'{"keep": ' + b"9" * 15_000 + b', "x": 1e999}',
        b'{"keep": "\\ud800"}',
        b"\xff\xfe\x00",
        b"",
        b"[" + b"1," * 9_000 + b"1]",
    ],
)
@pytest.mark.parametrize("library", ["json", "tomllib"])
def test_settings_of_any_form_end_well(text: bytes, library: str) -> None:
    os.remove("a.py")
    write(
        "b.py",
        LOADS.format(path="hp.json")
        .replace("json.load", f"{library}.load")
        .replace("import json", f"import {library}"),
    )
    Path("hp.json").write_bytes(text)
    code, out, err = concise("--no-cache", ".")
    assert code in (0, 1) and err == "" and "RTL900" not in out


def test_settings_of_many_files_take_no_time() -> None:
    os.remove("a.py")
    for number in range(20):
        Path(f"{number}.json").write_bytes(b" " * 1_000_000)
    write(
        "b.py", "import json, torch\n" + "".join(f"json.load(open('{number}.json'))\n" for number in range(20)) + TWICE
    )
    assert concise("--no-cache", ".")[1].count("RTL102") == 1


# -- nothing is written elsewhere ----------------------------------------------------------------------------------


def elsewhere(tree: Path) -> Path:
    place = tree.parent / "mine"
    place.mkdir()
    (place / "notes").write_text("kept")
    return place


@posix
@pytest.mark.parametrize("way", ["link", "setting"])
def test_a_cache_is_kept_only_in_what_is_ours(way: str, tree: Path) -> None:
    place = elsewhere(tree)
    if way == "link":
        os.symlink(place, ".retainlint_cache")
    else:
        write("retainlint.toml", 'cache-dir = "../mine"\n')
    assert concise(".")[1].startswith(FOUND)
    assert os.listdir(place) == ["notes"]
    retainlint("clean")
    assert os.listdir(place) == ["notes"]


@posix
def test_links_in_a_cache_are_not_followed(tree: Path) -> None:
    """Neither to read what may never end, nor to write, to mark as used, or to clean."""
    assert concise(".")[1].startswith(FOUND)
    cache = tree / ".retainlint_cache"
    store = next(cache.glob("*.kept"))
    place = elsewhere(tree)
    for file in [*cache.iterdir(), *store.iterdir()]:
        if file.is_file() and file.name != "CACHEDIR.TAG":
            file.unlink()
            file.symlink_to(place / "notes" if file.name == "used" else "/dev/zero")
    os.utime(place / "notes", (0, 0))
    for _ in range(2):
        assert concise(".")[1].startswith(FOUND)
    assert ((place / "notes").read_text(), os.listdir(place)) == ("kept", ["notes"])
    shutil.rmtree(store)
    store.symlink_to(place)
    assert concise(".")[1].startswith(FOUND)
    retainlint("clean")
    assert ((place / "notes").read_text(), os.listdir(place)) == ("kept", ["notes"])


def test_a_cache_that_others_wrote_says_nothing(tree: Path) -> None:
    """Whoever takes findings out of it, or breaks it, has the file checked again."""
    assert concise(".")[1].startswith(FOUND)
    cache = tree / ".retainlint_cache"
    for change in (b"", b"\0" * 99, b"[]", b"00000000\n{}\n[]\n{}\n[]\n"):
        for file in [*cache.rglob("*.found"), *cache.rglob("*.ir"), *cache.rglob("*.ignored")]:
            file.write_bytes(change)
        assert concise(".")[1].startswith(FOUND)


@posix
@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
def test_a_link_to_a_file_elsewhere_is_not_written_through(option: str, tree: Path) -> None:
    place = elsewhere(tree)
    text = TWICE.replace("loss.backward()\nloss", "loss.backward(retain_graph=True)\nloss", 1).replace(
        "loss.backward()\n", ""
    )
    text = text if option == "--fix" else TWICE
    (place / "b.py").write_text(text)
    os.remove("a.py")
    os.symlink(place / "b.py", "b.py")
    retainlint("check", option, ".")
    assert (place / "b.py").read_text() == text
    retainlint("check", option, str(place / "b.py"))
    assert (place / "b.py").read_text() != text


# -- nothing is run ------------------------------------------------------------------------------------------------


MODULES = (
    "torch",
    "json",
    "click",
    "libcst",
    "numpy",
    "pathspec",
    "yaml",
    "sitecustomize_",
    "distributed",
    "tomli",
    "conftest",
    "setup",
)


@pytest.mark.parametrize("way", [("-c", "from retainlint.__main__ import main; main()"), ("-m", "retainlint")])
def test_modules_of_a_checked_tree_are_not_imported(way: tuple[str, str], tree: Path) -> None:
    for name in MODULES:
        write(f"{name}.py", f"open('TAKEN_{name}', 'w')\n{TWICE}")
    path = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    without = {**os.environ, "PATH": os.pathsep.join(path)}
    if way[0] == "-c":
        without |= {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(ROOT)}
    else:
        without |= {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *way, "check", "--show-fixes", "--output-format", "json", "."],
        capture_output=True, text=True, env=without,
    )  # fmt: skip
    if way[0] == "-c" and sys.version_info < (3, 11):
        pytest.skip("-c looks into the working directory here")
    assert done.returncode == 1, done.stderr
    assert len(json.loads(done.stdout)) == len(MODULES) + 1
    assert not [name for name in os.listdir(".") if name.startswith("TAKEN")]


def test_settings_name_no_executor() -> None:
    write("retainlint.toml", 'executor = "dask://127.0.0.1:1"\n')
    code, _, err = concise(".")
    assert code == 2 and "executor" in err


# -- it ends well --------------------------------------------------------------------------------------------------

SLOW = (
    "import torch\ndef f(x):\n"
    + "".join(f"    if x.a{n}: x = x * x.b{n}\n" for n in range(60))
    + "    x.backward()\n"
    + "f(torch.ones(2))\n" * 3
)


@posix
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_is_asked_to_end(sent: int, code: int, jobs: str, tree: Path) -> None:
    """Quickly, quietly, with the right code; and no process or scrap is left."""
    for number in range(40):
        write(f"m{number}.py", SLOW.replace("f(", f"f{number}(") + "#" * 60_000)
    started = subprocess.Popen(
        [sys.executable, "-m", "retainlint", "check", "-q", "--jobs", jobs, "--output-format", "concise", "."],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), start_new_session=True,
    )  # fmt: skip
    time.sleep(1.5)
    begun = time.monotonic()
    (os.killpg if sent == signal.SIGINT else os.kill)(started.pid, sent)
    out, err = started.communicate(timeout=60)
    assert started.returncode in (code, 0, 1), err  # it may have been done
    assert (started.returncode != code) or (out, err.strip()) == (b"", b"")
    assert time.monotonic() - begun < 30
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.killpg(started.pid, 0)
            time.sleep(0.05)
    assert not [file for file in tree.rglob("*") if file.name.endswith(".new")]


@posix
@pytest.mark.parametrize("format", ["full", "json", "sarif"])
def test_a_reader_that_goes_away(format: str, tree: Path) -> None:
    for number in range(200):
        write(f"m{number}.py", TWICE)
    started = subprocess.Popen(
        [sys.executable, "-m", "retainlint", "check", "--no-cache", "--output-format", format, "."],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert started.stdout is not None and started.stderr is not None
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(started.stdout, fcntl.F_SETPIPE_SZ, 4096)  # type: ignore[attr-defined, unused-ignore]
    started.stdout.read(1)
    started.stdout.close()
    err = started.stderr.read()
    assert (started.wait(), b"Traceback" in err, b"Exception ignored" in err) == (141, False, False)


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(closed: str) -> None:
    shown = subprocess.run(
        f"'{sys.executable}' -m retainlint check -q . {closed}", shell=True, env=environment(), capture_output=True
    )
    assert (shown.returncode, b"Traceback" in shown.stderr) == (1, False)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_output_is_told() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "retainlint", "check", "."], stdout=full, stderr=subprocess.PIPE, env=environment()
        )
    assert (done.returncode, b"No space left" in done.stderr, b"Traceback" in done.stderr) == (2, True, False)
