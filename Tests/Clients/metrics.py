"""Reads `/metrics` of a real agent as Prometheus's own client does, and compares the figures with what was done."""
import sys

from prometheus_client.parser import text_string_to_metric_families

from agent import Agent, expect, main


def body():
    with Agent(sys.argv[1]) as agent:
        agent.start()
        everything = agent.everything()
        for _ in range(3):
            agent.until_status(everything, agent.begin(everything, "sum"), "succeeded")
        agent.until_status(everything, agent.begin(everything, "broken"), "failed")
        agent.until_status(everything, agent.begin(everything, "greeting", name="Ada"), "waiting")
        answer = agent.ask("GET", "/metrics", agent.token("prometheus", "metrics"))
        expect(answer.status == 200, f"no figures: {answer}")
        families = {family.name: family for family in text_string_to_metric_families(answer.body.decode())}
        samples = {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in families.values() for sample in family.samples}
        wanted = {
            ("errand_runs_started_total", ("cause", "manual")): 5,
            ("errand_runs_ended_total", ("recipe", "sum"), ("status", "succeeded")): 3,
            ("errand_runs_ended_total", ("recipe", "broken"), ("status", "failed")): 1,
            ("errand_runs_open", ("status", "waiting")): 1,
            ("errand_streams_open",): 0,
        }
        for series, value in wanted.items():
            expect(samples.get(series) == value, f"{series} is {samples.get(series)}, not {value}")
        for name, kind in {
                "errand_runs_ended": "counter", "errand_runs_open": "gauge", "errand_slot_lateness_seconds": "histogram",
                "errand_journal_sync_seconds": "histogram", "errand_http_request_seconds": "histogram"}.items():
            expect(name in families, f"there is no {name}")
            expect(families[name].type == kind, f"{name} is a {families[name].type}, not a {kind}")
            expect(families[name].documentation, f"{name} says nothing of itself")
        syncs = [value for series, value in samples.items() if series[0] == "errand_journal_sync_seconds_bucket"]
        expect(syncs == sorted(syncs) and syncs[-1] > 5, f"the syncs are {syncs}")
        expect(len(samples) <= 1000, f"there are {len(samples)} series")
        for name, family in families.items():
            for sample in family.samples:
                expect("run" not in sample.labels, f"{name} names runs")
        print(f"{len(samples)} series of {len(families)} kinds are as they should be")


main(body)
