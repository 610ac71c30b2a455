"""Generated plans: sound, nearly sound and wild ones, from a seeded generator."""

import json
import math
from random import Random
from typing import Any

from tests.helpers.odd_values import NOT_JSON, NUMBERS, RAW, TEXTS
from tunbench.plan.axes.profile import MOVED
from tunbench.plan.keys import KEYS as PLAN_KEYS
from tunbench.plan.load import shipped_plans
from tunbench.plan.study.calibration import CALIBRATION_KEYS
from tunbench.plan.study.claim import CLAIM_KEYS, COMPARISON_KEYS
from tunbench.plan.study.publication import CLUSTERING_KEYS, STUDY_KEYS
from tunbench.plan.study.published_table import TABLE_KEYS
from tunbench.runner import invocation, registry
from tunbench.runner.declare import axes
from tunbench.runner.declare.netem_terms import TERMS
from tunbench.runner.declare.options import Option

USUAL = {"duration": ("20ms", "1s"), "seconds": ("2",), "rate": ("5M",), "size": ("1300",), "ratio": ("1%",)}
"""Values that options of a kind usually have."""

KEYS = (
    *("name", "seed", "repeats", "link", "topology", "tuning", "machine", "probes", "profiles", "include", "exclude"),
    "until",
)
STACKS = (
    "none",
    "wireguard",
    "wireguard+vxlan",
    "gre",
    "vxlan",
    "openvpn:cipher=AES-256-GCM",
    "ipip",
    "tinc",
    "macsec",
)
TOPOLOGIES = ("pair", "ring", "mesh", "mesh:nodes=3", "hub-spoke:nodes=[3,4]", "site-to-site", "mesh:nodes=1000000000")
LINKS: tuple[Any, ...] = (
    *("wire", "100M", "1G", "aggregates", "jumbo", "1g", {"name": "1G"}, {"name": "l", "rate": "10M..50M step 10M"}),
    *({"name": "m", "mtu": "1280..1500 step 20"}, {"name": "m", "mtu": [68, 1500, 9000, 99999]}, {"name": "l"}),
    *({"name": "l", "up": {"rate": "5M", "queue": "50ms"}, "down": {"rate": "50M", "delay": "5ms"}}, {"rate": "1M"}),
    *({"name": "l", "rate": "16M", "framing": ["ethernet", "pppoe", "atm", "none"], "queue": 100}, {}),
    *({"name": "l", "segmentation": ["before", "after"], "delay": ["0s", "75us"]}, {"name": "l", "framing": "x"}),
    *({"name": "l", "rate": "1M", "queue": ["1ms", 0]}, {"name": "l", "queue": 9}, {"name": "l", "rate": 100}),
    *({"name": "l", "up": {"rate": ["5M", "50M"], "mtu": 9}}, {"name": "l", "down": "5M"}, {"name": "l", "delay": 5}),
)
TUNINGS: tuple[Any, ...] = (
    *("default", "gvisor-full", "jumbo", {"name": "t", "congestion": ["bbr", "cubic"]}, {"name": "m", "mtu": 9000}),
    *({"name": "s", "sysctl": {"net.ipv4.tcp_sack": 0, "net.core": {"rmem_max": 1}, "kernel.panic": 1}},),
    *({"name": "o", "offloads": {"tso": False, "gso": 1}}, {"name": "default"}, {}),
)
MACHINES: tuple[Any, ...] = (
    *("full", "slow", {"name": "no-aes", "cpu": {"without": ["aes"]}}, {"name": "x", "cpu": {"speed": [125, 250]}}),
    *({"name": "x", "cpu": {"speed": 3}}, {"name": "x", "cpu": {"without": "aes"}}, {"cpu": 1}),
)
UNTILS: tuple[Any, ...] = (
    *({"width": "2%", "max": 30}, {"width": "200%"}, {"width": "5%", "confidence": 0.999}, {"max": 10}),
    *({"width": "1%", "metrics": ["throughput", "rtt"]}, {"width": "1%", "max": 31}, {"width": math.inf}),
)
MANY = (1, 1000, 10_000, 10_000)
"""How long, or how many, something is in a plan that asks for much."""

SHIPPED = tuple(path.read_text() for path in shipped_plans().values())
ALL_KEYS = (PLAN_KEYS, STUDY_KEYS, TABLE_KEYS, CLUSTERING_KEYS, CALIBRATION_KEYS, CLAIM_KEYS, COMPARISON_KEYS)
SNIPPETS = tuple(key.example for keys in ALL_KEYS for key in keys.values())


def generated(dice: Random) -> str:
    """The text of a plan."""
    if dice.random() < 0.05:
        return edited(dice.choice(SHIPPED), dice)
    if dice.random() < 0.02:
        return large(dice)
    tables: dict[str, Any] = {"name": "any", "stacks": several(stack, dice), "workloads": several(workload, dice)}
    if dice.random() < 0.5:
        tables["profiles"] = several(profile, dice)
    made = {"link": LINKS, "topology": TOPOLOGIES, "tuning": TUNINGS, "machine": MACHINES, "until": UNTILS}
    for key in dice.sample(sorted(made), dice.choice((0, 0, 1, 2))):
        tables[key] = dice.choice(made[key])
    if dice.random() < 0.3:
        tables["repeats"] = dice.choice((1, 3, 30, 1000, 10_000))
    if dice.random() < 0.2:
        axis = dice.choice((*axes.NAMES, "what"))
        tables[dice.choice(("include", "exclude"))] = [{axis: dice.choice(("*", "none", "wire*", "[!a]*", "x?", "["))}]
    for key in dice.sample(KEYS, dice.choice((0, 0, 0, 0, 1, 2))):
        tables[key] = wild(dice)
    lines = [f"{key} = {written(value, dice)}" for key, value in tables.items()]
    if dice.random() < 0.15:
        lines.append(dice.choice((*SNIPPETS, *study(dice))))
    if dice.random() < 0.1:
        lines.insert(0, f"lab.kind = {written(dice.choice(('vm', 'native', 'ssh', wild(dice))), dice)}")
    if dice.random() < 0.03:
        lines.append(".".join(["a"] * dice.choice((2, 30, 100, 5000))) + " = 1")
    if dice.random() < 0.1:
        dice.shuffle(lines)
    text = "\n".join(lines) + "\n"
    return edited(text, dice) if dice.random() < 0.1 else text


def large(dice: Random) -> str:
    """The text of a plan with a long sweep in it, beside much else; often with a mistake, before or behind it."""
    last, much, one = dice.choice(MANY), dice.choice(MANY), dice.choice((1, [1]))
    swept, tail = f"1..{last} step 1", f",what{'x' * (much * 20)}" if dice.random() < 0.3 else ""
    keys = "".join(f", x{number} = {one}" for number in range(dice.choice((0, much))))
    layers = "gre:key={}+" * dice.choice((0, 0, 1, 5, 20))
    lists = {
        "stacks": f'["{layers.format(*range(1, 21))}vxlan:vni={swept}{tail}"]',
        "workloads": f'["ping:count={swept}{tail}"]',
        "profiles": f'[{{ name = "p", delay = "1ms..{last}ms step 1ms"{keys} }}]',
        "link": f'{{ name = "l", mtu = "999..{last + 998} step 1", up = {{ rate = "1M"{keys} }} }}',
        "tuning": f'{{ name = "t", congestion = "bbr", sysctl.net = {{ y = 1{keys} }} }}',
        "machine": f'{{ name = "m", cpu = {{ speed = [1000, 500]{keys} }} }}',
    }
    chosen = dice.choice(sorted(lists))
    usual = {"stacks": '["none"]', "workloads": '["ping"]', "tuning": '"default"', "repeats": dice.choice(('"x"', "1"))}
    return "\n".join(f"{key} = {one}" for key, one in {"name": '"any"', **usual, chosen: lists[chosen]}.items()) + "\n"


def study(dice: Random) -> list[str]:
    """What may stand beside a plan: a study with a table, claims, and scales."""
    cell = {key: dice.choice(TEXTS) for key in dice.sample(("stack", "workload", "metric", "node"), dice.randrange(3))}
    sound = {"stack": "none", "workload": "ping"}
    left, right = (written(dice.choice((sound, cell, wild(dice))), dice) for _ in range(2))
    expect = written(dice.choice(("> 1", "0.9..1.1", "<= 1e400", "9..1", wild(dice))), dice)
    claim = (
        f'[[claim]]\nname = "c"\ntext = "t"\nsource = "s"\ncompare = [{{left={left}, right={right}, expect={expect}}}]'
    )
    about = '[study]\ntitle = "t"\nauthors = "a"\nyear = 2000\nsource = "s"\nreference = "x.csv"\n'
    systems = f"systems = {{ A = {written(stack(dice), dice)}, B = {written(dice.choice(TEXTS), dice)} }}\n"
    table = f'[[study.table]]\ntable = "t"\nmetric = "m"\ncell = {left}\nconditions = {{ x = {right} }}'
    return [claim, about + systems + table, f"[scale.quick]\nrepeats = {written(wild(dice), dice)}"]


def several(one: Any, dice: Random) -> Any:
    """Some entries; now and then something else, or the same one twice."""
    if dice.random() < 0.05:
        return wild(dice)
    entries = [one(dice) for _ in range(dice.choice((1, 1, 1, 2, 4)))]
    same = dice.random() < 0.1
    return [one for number, one in enumerate(entries) if same or one not in entries[:number]]


def stack(dice: Random) -> Any:
    """Layers with options, most of them known."""
    layers = [_layer(dice, registry.tunnel_names()) for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 12)))]
    return "+".join(layers) if dice.random() < 0.3 else dice.choice((*STACKS, *STACKS, dice.choice(TEXTS)))


def workload(dice: Random) -> Any:
    """A workload with options, most of them known."""
    if dice.random() < 0.03:
        return dice.choice((*TEXTS, wild(dice)))
    name = dice.choice(registry.workload_names())
    return _spelled(name, invocation.takes(registry.workload(name).ABOUT), dice)


def profile(dice: Random) -> Any:
    """A profile with terms of netem, most of them known."""
    if dice.random() < 0.6:
        return dice.choice((*("baseline", "low", "medium", "high") * 4, dice.choice(TEXTS)))
    table: dict[str, Any] = {"name": dice.choice((*("p", "q", "wan", "lan", "far") * 4, "baseline", "A", ""))}
    for name in {"delay": 0, **dict.fromkeys(dice.sample(sorted(TERMS), dice.choice((0, 0, 1, 2))))}:
        swept = ["1ms", "2ms"] if name == "delay" else [_value(TERMS[name].option, dice) for _ in range(2)]
        table[name] = wild(dice) if dice.random() < 0.03 else dice.choice((_value(TERMS[name].option, dice), swept))
    if dice.random() < 0.1:
        table["reverse"] = dice.choice(({}, {"delay": "40ms"}, {"loss": ["1%", "2%"]}, wild(dice)))
    if dice.random() < 0.03:
        table[dice.choice(sorted(MOVED))] = dice.choice(("1M", 1000, wild(dice)))
    if dice.random() < 0.1:
        table["placement"] = dice.choice(("router", "endpoints", "overlay", "moon"))
    return table


def wild(dice: Random, deeper: int = 3) -> Any:
    """Anything."""
    match dice.randrange(8 if deeper else 5):
        case 0 | 1:
            return dice.choice(TEXTS)
        case 2:
            return dice.choice(NUMBERS)
        case 3:
            return dice.random() < 0.5
        case 4:
            return [dice.choice(TEXTS)] * dice.choice((0, 1, 3, 2000))
        case 5 | 6:
            return [wild(dice, deeper - 1) for _ in range(dice.randrange(4))]
        case _:
            keys = (
                "name",
                "delay",
                "cpu",
                "width",
                "stack",
                "sysctl",
                "rate",
                "up",
                "mtu",
                "a b",
                'q"',
                "\x1b",
                "reverse",
                "metrics",
            )
            return {dice.choice(keys): wild(dice, deeper - 1) for _ in range(dice.randrange(4))}


def written(value: Any, dice: Random) -> str:
    """The value as TOML; now and then as no TOML, or as another value."""
    if dice.random() < 0.004:
        return dice.choice(RAW)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {written(one, dice)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(one, dice) for one in value) + "]"
    if isinstance(value, float):
        return NOT_JSON.get(value) or repr(value)
    # JSON writes characters beyond 16 bits as two, which TOML does not take.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def edited(text: str, dice: Random) -> str:
    """The text with some of its characters, lines or numbers changed, torn out or doubled."""
    for _ in range(dice.randint(1, 4)):
        at, to = sorted(dice.choices(range(len(text) + 1), k=2))
        to = min(to, at + dice.choice((1, 5, 50)))
        match dice.randrange(5):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:to] + text[at:]
            case 2:
                text = text[:at] + dice.choice(RAW) + text[to:]
            case 3:
                lines = text.splitlines(keepends=True)
                dice.shuffle(lines)
                text = "".join(lines)
            case _:
                text = (
                    text[:at] + chr(dice.choice((0, 9, 10, 34, 44, 46, 91, 93, 123, 0x1B, 0x2028, 0x1F98A))) + text[at:]
                )
    return text


def _layer(dice: Random, names: list[str]) -> str:
    name = dice.choice(names)
    return _spelled(name, registry.tunnel(name).takes(), dice)


def _spelled(name: str, takes: Any, dice: Random) -> str:
    chosen = dice.sample(sorted(takes), min(len(takes), dice.choice((0, 0, 1, 2))))
    if dice.random() < 0.01:
        chosen.append("what")
    given = [f"{one}={_swept(takes.get(one, Option('count', '1', '')), dice)}" for one in chosen]
    return f"{name}:{','.join(given)}" if given else name


def _swept(option: Option, dice: Random) -> str:
    if dice.random() < 0.1:
        return dice.choice(
            ("[1,2,3]", "1..9 step 1", "1..90000 step 1", f"[{option.default},{option.default}]", *TEXTS)
        )
    return _value(option, dice)


def _value(option: Option, dice: Random) -> str:
    if dice.random() < 0.03:
        return dice.choice(TEXTS)
    if dice.random() < 0.03:
        return dice.choice([f"{end:.15g}" for end in (option.low, option.high) if math.isfinite(end)])
    return dice.choice((option.default, *(option.choices or USUAL.get(option.kind, ()))))
