"""Errors that come out where a result is asked for, of futures, tasks and coroutines: each program is judged by torch first."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from machine import Machine

HEAD = """import asyncio
import concurrent.futures as cf
import queue
import threading
import torch
from multiprocessing.pool import ThreadPool
from torch import nn
net = nn.Linear(2, 1)
def make(net):
    return torch.sigmoid(net(torch.ones(1, 2))).mean()
"""
FAILS = (
    HEAD
    + """def twice(net):
    loss = make(net)
    loss.backward()
    loss.backward() #!
"""
)
RUNS = FAILS.replace(" #!", "")
ASYNC = """async def atwice(net):
    twice(net)
"""
WORKER = """
class Worker(threading.Thread):
    def __init__(self, jobs, results):
        super().__init__(%s)
        self.jobs, self.results = jobs, results
    def run(self):
        while True:
            job = self.jobs.get()
            if job is None:
                break
            try:
                self.results.put(("ok", job(net)))
            except %s as e:
                self.results.put(("error", e))
jobs, results = queue.Queue(), queue.Queue()
worker = Worker(jobs, results)
worker.start()
"""
"""A worker that is started before there is anything for it to do."""

PROGRAMS = {
    "a worker that goes on": RUNS + WORKER % ("", "RuntimeError") + "jobs.put(twice)\njobs.put(None)\nworker.join()\n",
    "a worker by a method of what holds its queue": RUNS
    + """
class Worker:
    def __init__(self):
        self.jobs, self.errors = queue.Queue(), []
        self.thread = threading.Thread(target=self.loop)
    def loop(self):
        while (job := self.jobs.get()) is not None:
            try:
                job(net)
            except RuntimeError as e:
                self.errors.append(e)
worker = Worker()
worker.thread.start()
worker.jobs.put(twice)
worker.jobs.put(None)
worker.thread.join()
print(worker.errors)
""",
    "a worker that gives up waiting": HEAD
    + """
jobs = queue.Queue()
def work():
    while True:
        try:
            jobs.get(timeout=0.1)
        except queue.Empty:
            break
    loss = make(net)
    loss.backward()
    try:
        loss.backward() #!
    except RuntimeError as e:
        errors.append(e)
errors = []
worker = threading.Thread(target=work, args=(), kwargs={})
worker.jobs = jobs
worker.start()
jobs.put(1)
worker.join()
if errors:
    raise errors[0]
""",
    "a worker that takes the last job first": RUNS
    + """
jobs = queue.LifoQueue()
def work(jobs):
    while True:
        job = jobs.get()
        if job is None:
            return
        try:
            job(net)
        except RuntimeError as e:
            print(e)
worker = threading.Thread(target=work, args=(jobs,))
worker.start()
jobs.put(None)
jobs.put(twice)
worker.join()
""",
    "a worker that nobody joins": RUNS + WORKER % ("", "RuntimeError") + "jobs.put(twice)\njobs.put(None)\n",
    "a worker whose error is raised where it is asked for": FAILS
    + WORKER % ("daemon=True", "Exception")
    + """
for _ in range(2):
    jobs.put(twice)
for _ in range(2):
    kind, value = results.get(timeout=5)
    if kind == "error":
        raise value
""",
    "a worker whose error is printed": RUNS
    + WORKER % ("daemon=True", "Exception")
    + """
jobs.put(twice)
kind, value = results.get(timeout=5)
print(kind, value)
""",
    "a future that failed is raised again": FAILS
    + """
with cf.ThreadPoolExecutor() as pool:
    f = pool.submit(twice, net)
if f.exception() is not None:
    raise f.exception()
""",
    "a result that nobody waits for": FAILS
    + """
with cf.ThreadPoolExecutor() as pool:
    f = pool.submit(twice, net)
print(f.result())
""",
    "a handler of other errors": FAILS
    + """
with cf.ThreadPoolExecutor() as pool:
    f = pool.submit(twice, net)
try:
    f.result()
except ValueError:
    print("no")
""",
    "each future has its handler": RUNS
    + """
with cf.ThreadPoolExecutor() as pool:
    fs = [pool.submit(twice, net) for _ in range(2)]
for f in cf.as_completed(fs):
    try:
        f.result()
    except RuntimeError as e:
        print(e)
""",
    "what was mapped is taken in a handler": RUNS
    + """
with cf.ThreadPoolExecutor() as pool:
    rs = pool.map(twice, [net])
try:
    for r in rs:
        print(r)
except RuntimeError as e:
    print(e)
""",
    "what was mapped is taken": FAILS
    + """
with cf.ThreadPoolExecutor() as pool:
    rs = pool.map(twice, [net])
    for r in rs:
        print(r)
""",
    "which of the futures failed": RUNS
    + """
pool = cf.ThreadPoolExecutor(2)
fs = {pool.submit(twice, nn.Linear(2, 1)): i for i in range(3)}
for f in cf.as_completed(fs):
    if f.exception():
        print("failed", fs[f])
    else:
        print(f.result())
""",
    "the exception of a future has a name": RUNS
    + """
if __name__ == "__main__":
    with cf.ThreadPoolExecutor(1) as pool:
        f = pool.submit(twice, net)
        err = f.exception()
        if err is not None:
            print("failed", err)
""",
    "an error of its own comes out of a future": FAILS
    + """
def bad():
    raise ValueError("x")
with cf.ThreadPoolExecutor(1) as pool:
    f = pool.submit(bad)
try:
    f.result()
except ValueError:
    twice(net)
""",
    "what was gathered is raised again": FAILS
    + ASYNC
    + """
async def main():
    rs = await asyncio.gather(atwice(net), return_exceptions=True)
    for r in rs:
        if isinstance(r, Exception):
            raise r
asyncio.run(main())
""",
    "coroutines are gathered": FAILS
    + ASYNC
    + """
async def main():
    await asyncio.gather(atwice(net), atwice(net))
asyncio.run(main())
""",
    "two fail that are gathered, and one is caught": RUNS
    + ASYNC
    + """
async def main():
    ts = [atwice(net), atwice(net)]
    try:
        await asyncio.gather(*ts)
    except RuntimeError as e:
        print(e)
asyncio.run(main())
""",
    "the exception of a task": RUNS
    + ASYNC
    + """
async def main():
    t = asyncio.create_task(atwice(net))
    await asyncio.sleep(0.01)
    print(t.exception())
asyncio.run(main())
""",
    "a handler around the run": RUNS
    + ASYNC
    + """
async def main():
    await atwice(net)
try:
    asyncio.run(main())
except RuntimeError as e:
    print(e)
""",
    "a handler around a loop that runs a coroutine": RUNS
    + ASYNC
    + """
async def main():
    await atwice(net)
loop = asyncio.new_event_loop()
c = main()
try:
    loop.run_until_complete(c)
except RuntimeError as e:
    print(e)
""",
    "a task that is awaited": FAILS
    + ASYNC
    + """
async def main():
    t = asyncio.create_task(atwice(net))
    await t
asyncio.run(main())
""",
    "a handler around wait_for": RUNS
    + ASYNC
    + """
async def main():
    try:
        await asyncio.wait_for(atwice(net), 10)
    except RuntimeError:
        pass
asyncio.run(main())
""",
    "tasks that are gathered with their exceptions": RUNS
    + ASYNC
    + """
async def main():
    ts = [asyncio.create_task(atwice(nn.Linear(2, 1))) for _ in range(2)]
    done = await asyncio.gather(*ts, return_exceptions=True)
    print(sum(isinstance(d, Exception) for d in done))
asyncio.run(main())
""",
    "a thread that is awaited": RUNS
    + """
async def main():
    try:
        await asyncio.to_thread(twice, net)
    except RuntimeError as e:
        print(e)
asyncio.run(main())
""",
    "an executor of a loop": RUNS
    + """
async def main():
    loop = asyncio.get_running_loop()
    f = loop.run_in_executor(None, twice, net)
    try:
        await f
    except RuntimeError as e:
        print(e)
asyncio.run(main())
""",
    "which of the tasks that were waited for failed": RUNS
    + ASYNC
    + """
async def main():
    ts = [asyncio.create_task(atwice(net))]
    done, _ = await asyncio.wait(ts)
    for t in done:
        if t.exception():
            print("failed")
asyncio.run(main())
""",
    "a handler around what a pool gives": RUNS
    + """
with ThreadPool(1) as pool:
    r = pool.apply_async(twice, (net,))
    try:
        r.get()
    except RuntimeError as e:
        print(e)
""",
    "what a pool gives": FAILS
    + """
with ThreadPool(1) as pool:
    r = pool.apply_async(twice, (net,))
    r.get()
""",
    "tasks that are awaited in a handler": RUNS
    + ASYNC
    + """
async def main():
    task = asyncio.create_task(atwice(net))
    try:
        await task
    except RuntimeError:
        print("failed")
asyncio.run(main())
""",
    "what a task gives": HEAD
    + """
async def begun(net):
    return make(net)
async def main():
    task = asyncio.create_task(begun(net))
    loss = await task
    loss.backward()
    loss.backward() #!
asyncio.run(main())
""",
    "what a future gives": HEAD
    + """
with cf.ThreadPoolExecutor(1) as pool:
    future = pool.submit(make, net)
loss = future.result()
loss.backward()
loss.backward() #!
""",
    "one of two futures": HEAD
    + """
def job(net, ends):
    loss = make(net)
    loss.backward()
    if not ends:
        loss.backward() #!
    return 1.0
with cf.ThreadPoolExecutor(1) as pool:
    futures = [pool.submit(job, net, ends) for ends in (True, False)]
print([each.result() for each in futures])
""",
    "what a pool maps": FAILS.replace("#!", "")
    + """
with ThreadPool(2) as pool:
    losses = pool.map(make, [nn.Linear(2, 1), nn.Linear(2, 1)])
    try:
        pool.map(twice, [nn.Linear(2, 1), nn.Linear(2, 1)])
    except RuntimeError as error:
        print(error)
losses[0].backward()
losses[1].backward()
losses[0].backward() #!
""",
    "the exception of a command that a runner has called": RUNS
    + """
import click
from click.testing import CliRunner
@click.command()
def go():
    twice(net)
print(CliRunner().invoke(go).exception)
""",
    "a runner that catches nothing": FAILS
    + """
import click
from click.testing import CliRunner
@click.command()
def go():
    twice(net)
CliRunner().invoke(go, catch_exceptions=False)
""",
    "a future of a future": RUNS
    + """
def outer():
    with cf.ThreadPoolExecutor(1) as inner:
        return inner.submit(twice, net).result()
with cf.ThreadPoolExecutor(1) as pool:
    print(pool.submit(outer).exception())
""",
}
"""`#!` marks the line on which torch raises first, if it does."""


def expected(text: str) -> list[int]:
    return [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("#!")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_says_what_torch_says(machine: Machine, name: str) -> None:
    assert machine(PROGRAMS[name]).lines == expected(PROGRAMS[name])


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_torch_says_it(name: str, tmp_path: Path) -> None:
    from judge_torch import judge

    script = tmp_path / "program.py"
    script.write_text(PROGRAMS[name], encoding="utf-8")
    assert judge(script).line == next(iter(expected(PROGRAMS[name])), None)
