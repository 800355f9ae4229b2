"""Kills the agent between a POST and its answer: kills.py PROGRAM [KILLS]

Several clients start runs, each with a key of its own, and repeat each request with its key until it is answered, while
the agent is killed again and again at random moments. In the end there are as many runs as keys, each once.
"""
import http.client
import os
import random
import sys
import threading
import time

from agent import Agent, expect, main, until

CLIENTS = 4


def run():
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    seed = int(os.environ.get("ERRAND_SEED") or random.randrange(1 << 32))
    numbers = random.Random(seed)
    with Agent(sys.argv[1]) as agent:
        # The address stays, as that of a real agent does.
        agent.start()
        configuration = agent.folder / "errand.yaml"
        configuration.write_text(configuration.read_text().replace("127.0.0.1:0", f"127.0.0.1:{agent.port}"))
        token = agent.everything()
        answers, repeats, faults, over = {}, [0], [], threading.Event()
        lock = threading.Lock()

        def client(number):
            count = 0
            while not over.is_set():
                key, n = f"client-{number}-{count}", count % 100
                count += 1
                while True:
                    try:
                        answer = agent.ask(
                            "POST", "/api/v1/recipes/sum/runs", token, {"inputs": {"n": n}}, {"Idempotency-Key": key},
                            timeout=10)
                    except (OSError, http.client.HTTPException):
                        answer = None
                    # While it starts and ends it asks for patience.
                    if answer and answer.status == 202:
                        with lock:
                            answers[key] = (answer.json["run"], answer.json["isNew"], n)
                        break
                    if answer and answer.status not in (409, 503):
                        faults.append(f"{key}: {answer}")
                        return over.set()
                    with lock:
                        repeats[0] += 1
                    time.sleep(0.005)

        clients = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(CLIENTS)]
        for thread in clients:
            thread.start()
        for kill in range(kills):
            asked = len(answers)
            # Each agent answers something, so that the next is killed at work and not only while it starts.
            until(lambda: len(answers) > asked or faults, f"seed {seed}: nothing is answered after {kill} kills")
            time.sleep(numbers.uniform(0, 0.03))
            agent.kill()
            agent.start()
        over.set()
        for thread in clients:
            thread.join(60)
            expect(not thread.is_alive(), f"seed {seed}: a client waits for its answer")
        expect(not faults, f"seed {seed}: {faults}")
        until(
            lambda: not agent.ask("GET", "/api/v1/status", token).json["runs"],
            lambda: f"seed {seed}: runs stay open: {agent.ask('GET', '/api/v1/runs?limit=20', token).json}", 120)
        runs, cursor = [], None
        while True:
            page = agent.ask("GET", "/api/v1/runs?limit=200" + (f"&cursor={cursor}" if cursor else ""), token).json
            runs += page["items"]
            cursor = page.get("next")
            if not cursor:
                break
        by_key = {run for run, _, _ in answers.values()}
        expect(len(by_key) == len(answers), f"seed {seed}: {len(answers)} keys, but {len(by_key)} runs were answered")
        listed = [run["id"] for run in runs]
        expect(len(listed) == len(set(listed)), f"seed {seed}: a run is listed twice")
        lost, extra = by_key - set(listed), set(listed) - by_key
        expect(not lost and not extra, f"seed {seed}: {len(lost)} runs lost, {len(extra)} without a key: {lost or extra}")
        expect(all(run["status"] == "succeeded" for run in runs), f"seed {seed}: a run didn't succeed")
        # Each has the inputs of its key.
        for key, (name, _, n) in numbers.sample(sorted(answers.items()), min(50, len(answers))):
            shown = agent.ask("GET", f"/api/v1/runs/{name}", token).json
            expect(shown["outputs"]["m"] == n + 1, f"seed {seed}: the run of {key} is another")
        known = sum(not is_new for _, is_new, _ in answers.values())
        expect(kills < 20 or known, f"seed {seed}: no kill came between a run and its answer")
        print(
            f"kills: seed {seed}: {kills} kills, {len(answers)} keys of {CLIENTS} clients, {repeats[0]} repeats; "
            f"{known} runs were there before their answer; each once")
        agent.end()


main(run)
