"""Does with other tools what the rows of whole processes have Errand do.

    peers.py PEER CASE FOLDER [URL]

PEER is `python`, `huey`, `dbos` or `aiohttp`; CASE is `step`, `chain` (of 1,000), `crowd` (64 chains of 200) or `http`
(2,000 answers of the URL, 64 in flight). What is kept lies in FOLDER. Each tool is used as its manual shows, and told
to sync where it lets one choose.
"""

import os
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

PEER, CASE, FOLDER = sys.argv[1:4]
URL = sys.argv[4] if len(sys.argv) > 4 else ""
CHAINS = {"step": [1], "chain": [1000], "crowd": [200] * 64}.get(CASE, [])
ANSWERS, IN_FLIGHT = 2000, 64


def fetch(number):
    with urllib.request.urlopen(f"{URL}/{number}") as answer:
        return answer.read().decode()


def python():
    """A script that appends a line for each step, and syncs it."""

    def chain(index, steps):
        with open(f"{FOLDER}/chain{index}.jsonl", "a", buffering=1) as file:
            for step in range(steps):
                file.write(f'{{"step":{step},"value":{step}}}\n')
                os.fdatasync(file.fileno())

    with ThreadPoolExecutor(len(CHAINS)) as pool:
        list(pool.map(chain, range(len(CHAINS)), CHAINS))


def huey():
    """A queue of tasks in SQLite; a step enqueues the next one of its chain."""
    from huey import SqliteHuey

    queue = SqliteHuey(filename=f"{FOLDER}/huey.db", fsync=True)
    over = threading.Semaphore(0)

    @queue.task()
    def step(left):
        if left > 1:
            step(left - 1)
        else:
            over.release()
        return left

    @queue.task()
    def ask(number):
        text = fetch(number)
        over.release()
        return text

    if CASE == "http":
        count = ANSWERS
        for number in range(ANSWERS):
            ask(number)
    else:
        count = len(CHAINS)
        for steps in CHAINS:
            step(steps)
    consumer = queue.create_consumer(
        workers=IN_FLIGHT if count > 1 else 1, periodic=False, initial_delay=0.001, max_delay=0.01)
    consumer.start()
    for _ in range(count):
        over.acquire()
    consumer.stop(graceful=True)


def dbos():
    """Workflows of steps in SQLite."""
    from dbos import DBOS

    DBOS(config={
        "name": "peer", "system_database_url": f"sqlite:///{os.path.abspath(FOLDER)}/dbos.sqlite",
        "log_level": "ERROR", "run_admin_server": False,
    })

    @DBOS.step()
    def step(number):
        return number

    @DBOS.step()
    def ask(number):
        return fetch(number)

    @DBOS.workflow()
    def chain(steps):
        for number in range(steps):
            step(number)

    @DBOS.workflow()
    def some(first):
        for number in range(first, ANSWERS, IN_FLIGHT):
            ask(number)

    DBOS.launch()
    if CASE == "http":
        runs = [DBOS.start_workflow(some, first) for first in range(IN_FLIGHT)]
    else:
        runs = [DBOS.start_workflow(chain, steps) for steps in CHAINS]
    for run in runs:
        run.get_result()
    DBOS.destroy()


def aiohttp():
    """Requests that keep nothing."""
    import asyncio

    import aiohttp as client

    async def ask_all():
        async with client.ClientSession(connector=client.TCPConnector(limit=IN_FLIGHT)) as session:

            async def ask(number):
                async with session.get(f"{URL}/{number}") as answer:
                    return await answer.text()

            return await asyncio.gather(*(ask(number) for number in range(ANSWERS)))

    assert len(asyncio.run(ask_all())) == ANSWERS


os.makedirs(FOLDER, exist_ok=True)
{"python": python, "huey": huey, "dbos": dbos, "aiohttp": aiohttp}[PEER]()
