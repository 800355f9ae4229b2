"""Makes expressions from a seed, and asks cel-expr-python (the C++ implementation of CEL) what comes of each.

Called with a seed and a count; writes one line for each in the form of google/cel-spec's suite as `SuiteTest` reads it,
and `"refused": true` where the checker of the reference says no.
"""

import base64, datetime, json, random, sys

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_strings

T = cel.Type
TYPES = {
    "n": ("int", T.INT), "u": ("uint", T.UINT), "d": ("double", T.DOUBLE), "s": ("string", T.STRING),
    "b": ("bool", T.BOOL), "l": ("list(int)", T.List(T.INT)), "m": ("map(string, int)", T.Map(T.STRING, T.INT)),
    "any": ("dyn", T.DYN), "far.n": ("int", T.INT), "far.away.n": ("string", T.STRING), "far.away.x.y": ("int", T.INT),
}
DATA = {
    "n": ({"t": "int", "v": "7"}, 7), "u": ({"t": "uint", "v": "3"}, 3), "d": ({"t": "double", "v": "2.5"}, 2.5),
    "s": ({"t": "string", "v": "añ😀b"}, "añ😀b"), "b": ({"t": "bool", "v": True}, True),
    "l": ({"t": "list", "v": [{"t": "int", "v": str(i)} for i in (3, 1, 2)]}, [3, 1, 2]),
    "m": ({"t": "map", "v": [[{"t": "string", "v": "k"}, {"t": "int", "v": "5"}]]}, {"k": 5}),
    "any": ({"t": "list", "v": [{"t": "int", "v": "1"}, {"t": "string", "v": "x"}]}, [1, "x"]),
    "far.n": ({"t": "int", "v": "11"}, 11), "far.away.n": ({"t": "string", "v": "away"}, "away"),
    "far.away.x.y": ({"t": "int", "v": "13"}, 13),
}
CONTAINERS = ["", "far", "far.away", "far.away.x", "near"]


class Maker:
    """Makes expressions that are mostly, but not always, of the type that is wanted.

    Left out is what CEL leaves open and the implementations do differently: the order of a map's keys, `--x` (which
    some take for `x`), the zeros at the end of fractions of seconds, `%d` of a double, texts in bytes that
    are none, the kind of items of `[1] + dyn`, and keys of no kind that a map may have.
    """

    KINDS = ["int", "uint", "double", "string", "bool", "list", "map", "time", "span", "bytes"]

    def __init__(self, random):
        self.random = random

    def number(self):
        r = self.random
        if r.random() < 0.5:
            return repr(round(r.uniform(-100, 100), r.randint(0, 4)))
        return repr(r.choice([1, -1]) * r.random() * 10.0 ** r.randint(-320, 308))

    def leaf(self, kind, names):
        r = self.random
        leaves = {
            "int": ["n", "0", "1", "-1", "7", "9223372036854775807", "-9223372036854775808", "0x1F", "x.y", ".n", "far.n",
                    str(r.randint(-50, 50))],
            "uint": ["u", "0u", "1u", "18446744073709551615u", "0xFu"],
            "double": ["d", "1.5", "-0.0", "1e300", "0.1", self.number(), self.number(), self.number()],
            "string": ["s", "''", "'a'", "'ab,c'", "r'\\d'", "'\\u00e4'", "'12'", "'1.5'", "'true'", "far.away.n", "'''x'''"],
            "bool": ["b", "true", "false"],
            "list": ["l", "[]", "[1, 2, 3]", "[n, 1]", "[1, 'a']"],
            "map": ["m", "{}", "{'a': 1}", "{1: 2}", "{true: 1}", "{'k': n}"],
            "time": ["timestamp('2026-11-20T08:30:05.123456Z')", "timestamp('0001-01-01T00:00:00Z')", "timestamp(n)",
                     "timestamp('2024-02-29T23:59:59+11:00')"],
            "span": ["duration('1h30m')", "duration('-1.125s')", "duration('1us')", "duration('0')", "duration('300000h')"],
            "bytes": ["b'ab'", "b'\\x7f\\x00'", "b'ä'", "b''"],
        }[kind]
        if names and r.random() < 0.4:
            return r.choice(names)
        return r.choice(leaves)

    def make(self, kind, depth, names=()):
        r = self.random
        if r.random() < 0.04:
            kind = r.choice(self.KINDS)
        if depth == 0:
            return self.leaf(kind, names)
        one = lambda k: self.make(k, depth - 1, names)
        any_ = lambda: one(r.choice(self.KINDS))
        shared = [
            lambda: f"({one('bool')} ? {one(kind)} : {one(kind)})",
            lambda: f"[{one(kind)}, {one(kind)}][{r.choice(['0', '1', '1', '2', 'n', '0u', '1.0'])}]",
            lambda: f"{{'k': {one(kind)}}}.{r.choice(['k', 'k', 'j'])}",
            lambda: f"dyn({one(kind)})",
            lambda: f"cel.bind(v, {one(kind)}, {self.make(kind, depth - 1, list(names) + ['v'])})",
        ]
        compare = lambda: f"({(k := r.choice(self.KINDS)) and one(k)} {r.choice(['==', '!=', '<', '<=', '>', '>='])} {one(k)})"
        numbers = lambda: f"(dyn({one(r.choice(self.KINDS[:3]))}) {r.choice(['==', '!=', '<', '<=', '>', '>='])} {one(r.choice(self.KINDS[:3]))})"
        loop = lambda macro, body: f"{one(r.choice(['list', 'list', 'map']))}.{macro}(x, {self.make(body, depth - 1, list(names) + ['x'])})"
        own = {
            "int": [
                lambda: f"({one('int')} {r.choice('+-*/%')} {one('int')})", lambda: f"-({one('int')})",
                lambda: f"int({one(r.choice(['double', 'string', 'uint', 'time', 'int']))})",
                lambda: f"size({one(r.choice(['string', 'list', 'map', 'bytes']))})",
                lambda: f"{one('string')}.size()", lambda: f"{one('list')}[{one('int')}]", lambda: f"{one('map')}['k']",
                lambda: f"{one('string')}.indexOf({one('string')})",
                lambda: f"{one('time')}.{r.choice(['getFullYear', 'getMonth', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'])}({r.choice(['', repr('Europe/Berlin'), repr('+05:30'), repr('-02:00'), repr('nowhere')])})",
                lambda: f"{one('span')}.{r.choice(['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'])}()",
                lambda: f"math.{r.choice(['greatest', 'least'])}({one('int')}, {one('int')})",
                lambda: f"math.bitAnd({one('int')}, {one('int')})", lambda: f"math.abs({one('int')})",
                lambda: f"math.bitShiftLeft({one('int')}, {one('int')})",
            ],
            "uint": [lambda: f"({one('uint')} {r.choice('+-*/%')} {one('uint')})",
                     lambda: f"uint({one(r.choice(['int', 'double', 'string', 'uint']))})"],
            "double": [
                lambda: f"({one('double')} {r.choice('+-*/')} {one('double')})", lambda: f"-({one('double')})",
                lambda: f"double({one(r.choice(['int', 'uint', 'string', 'double']))})",
                lambda: f"math.{r.choice(['ceil', 'floor', 'round', 'trunc', 'abs', 'sign'])}({one('double')})",
                lambda: f"math.greatest({one('double')}, {one('double')})",
            ],
            "string": [
                lambda: f"({one('string')} + {one('string')})",
                lambda: f"string({one(r.choice(['double', 'double', 'double', 'int', 'uint', 'bool', 'bytes', 'time', 'span']))})",
                lambda: f"{one('string')}.substring({one('int')})", lambda: f"{one('string')}.charAt({one('int')})",
                lambda: f"{one('string')}.{r.choice(['lowerAscii', 'upperAscii', 'trim', 'reverse'])}()",
                lambda: f"{one('string')}.replace({one('string')}, {one('string')})",
                lambda: f"{one('string')}.split({one('string')}).join({one('string')})",
                lambda: f"'{r.choice(['%x', '%b', '%o'])}'.format([{one('int')}])",
                lambda: f"'{r.choice(['%s', '%.2f', '%e', '%.3e'])}'.format([{one(r.choice(['double', 'string', 'list', 'bytes']))}])",
            ],
            "bool": [
                lambda: f"({one('bool')} {r.choice(['&&', '||'])} {one('bool')})", lambda: f"!{one('bool')}", compare, compare,
                numbers, numbers, lambda: f"({any_()} in {one('list')})", lambda: f"({one(r.choice(['string', 'int', 'uint', 'bool']))} in {one('map')})",
                lambda: f"has({one('map')}.{r.choice('kj')})", lambda: f"{one('string')}.matches({one('string')})",
                lambda: f"{one('string')}.{r.choice(['contains', 'startsWith', 'endsWith'])}({one('string')})",
                lambda: loop(r.choice(["all", "exists", "exists_one"]), "bool"),
                lambda: f"(type({any_()}) == {r.choice(['int', 'uint', 'double', 'string', 'bool', 'list', 'map', 'bytes', 'type', 'null_type'])})",
                lambda: f"bool({one('string')})",
            ],
            "list": [lambda: f"({one('list')} + {one('list')})", lambda: loop("map", r.choice(self.KINDS)),
                     lambda: loop("filter", "bool"), lambda: f"[{any_()}, {any_()}]"],
            "map": [lambda: f"{{{one(r.choice(['string', 'int', 'uint', 'bool']))}: {any_()}}}"],
            "time": [lambda: f"({one('time')} {r.choice('+-')} {one('span')})", lambda: f"timestamp({one(r.choice(['int', 'string']))})"],
            "span": [lambda: f"({one('span')} {r.choice('+-')} {one('span')})", lambda: f"({one('time')} - {one('time')})"],
            "bytes": [lambda: f"({one('bytes')} + {one('bytes')})", lambda: f"bytes({one('string')})"],
        }[kind]
        return r.choice(shared if r.random() < 0.2 else own)()


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def form(value):
    """A value in the suite's form; a TypeError for what Python cannot hold exactly."""
    name, plain = value.type().name().lower(), value.value()
    match name:
        case "null" | "null_type": return {"t": "null"}
        case "bool": return {"t": "bool", "v": plain}
        case "int" | "uint": return {"t": name, "v": str(plain)}
        case "double":
            special = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
            return {"t": "double", "v": "NaN" if plain != plain else special.get(plain, repr(plain))}
        case "string": return {"t": "string", "v": plain}
        case "bytes": return {"t": "bytes", "b64": base64.b64encode(plain).decode()}
    if name == "type":
        raise TypeError(name)
    if isinstance(plain, dict):
        raise TypeError("keys of a map have lost their kinds")
    if isinstance(plain, list):
        return {"t": "list", "v": [form(item) for item in plain]}
    if isinstance(plain, datetime.datetime):
        micros = (plain - EPOCH) // datetime.timedelta(microseconds=1)
        return {"t": "timestamp", "s": str(micros // 1_000_000), "n": micros % 1_000_000 * 1000}
    if isinstance(plain, datetime.timedelta):
        micros = plain // datetime.timedelta(microseconds=1)
        seconds = abs(micros) // 1_000_000 * (1 if micros >= 0 else -1)
        return {"t": "duration", "s": str(seconds), "n": (micros - seconds * 1_000_000) * 1000}
    raise TypeError(name)


def main(seed, count):
    maker = Maker(random.Random(seed))
    environments = {
        container: cel.NewEnv(
            variables={name: kind for name, (_, kind) in TYPES.items()}, container=container,
            extensions=[ext_strings.ExtStrings(), ext_math.ExtMath(), ext_bindings.ExtBindings()])
        for container in CONTAINERS
    }
    data = {name: plain for name, (_, plain) in DATA.items()}
    for index in range(count):
        container = maker.random.choice(CONTAINERS)
        text = maker.make(maker.random.choice(Maker.KINDS), maker.random.randint(0, 3))
        if "int(duration(" in text:
            continue  # The reference checks it, and cannot compute it.
        line = {
            "id": f"{seed}/{index}", "expr": text, "container": container,
            "typeEnv": [{"name": name, "type": kind} for name, (kind, _) in TYPES.items()],
            "bindings": {name: value for name, (value, _) in DATA.items()},
        }
        try:
            program = environments[container].compile(text)
        except Exception as error:
            print(json.dumps({**line, "refused": True, "why": str(error)}))
            continue
        try:
            value = program.eval(data=data)
            if value.type() == T.ERROR:
                line["expect"] = {"error": str(value.value())}
            else:
                line["expect"] = {"value": form(value)}
        except (TypeError, OverflowError):
            continue
        except Exception as error:
            line["expect"] = {"error": str(error)}
        print(json.dumps(line))


main(int(sys.argv[1]), int(sys.argv[2]))
