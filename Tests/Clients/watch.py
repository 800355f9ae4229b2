"""Watches all runs of a real agent by server-sent events: watch.py PROGRAM"""
import http.client
import json
import sys

from agent import Agent, expect, main


def watch(agent, token):
    """The events of a stream, each with its name and its data."""
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=60)
    connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    expect(answer.status == 200, f"no stream: {answer.status}")
    expect(answer.headers["Content-Type"] == "text/event-stream", f"a stream of {answer.headers['Content-Type']}")
    name = None
    for line in answer:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, json.loads(text.removeprefix("data: "))


def body():
    with Agent(sys.argv[1]) as agent:
        agent.start()
        everything, reader = agent.everything(), agent.token("reader", "read")
        wide, narrow = watch(agent, reader), watch(agent, agent.token("narrow", "read", recipes=["sum"]))
        for stream in [wide, narrow]:
            expect(next(stream) == ("watching", {}), "a stream doesn't say that it watches")
        greeting = agent.until_status(everything, agent.begin(everything, "greeting", name="Ada"), "waiting")
        sum_ = agent.until_status(everything, agent.begin(everything, "sum"), "succeeded")
        found = [next(wide) for _ in range(4)]
        wanted = [("began", greeting), ("waits", greeting), ("began", sum_), ("ended", sum_)]
        expect([(name, run["id"]) for name, run in found] == wanted, f"the stream says {found}")
        expect("Ada" not in json.dumps(found), "a token without the scope data sees what runs are about")
        found = [next(narrow) for _ in range(2)]
        expect([(name, run["id"]) for name, run in found] == wanted[2:], f"a narrow token sees {found}")
        # The end of the agent ends the streams, and isn't held up by them.
        agent.end()
        print("a stream says what happens to runs")


main(body)
