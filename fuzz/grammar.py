"""Random sentences of a grammar, and random damage to them."""

from __future__ import annotations

from random import Random

Grammar = dict[str, list[str]]  # symbol -> alternatives; <name> in one stands for a symbol
DEEPEST = 14


def derived(grammar: Grammar, symbol: str, random: Random, depth: int = 0) -> str:
    """A sentence of a symbol. Deep down the first alternative is taken, which ends."""
    ways = grammar[symbol]
    way = ways[0] if depth > DEEPEST else random.choice(ways)
    out, position = [], 0
    while (start := way.find("<", position)) >= 0:
        end = way.find(">", start)
        name = way[start + 1 : end] if end > 0 else ""
        if name in grammar:
            out += [way[position:start], derived(grammar, name, random, depth + 1)]
            position = end + 1
        else:
            out.append(way[position : start + 1])
            position = start + 1
    return "".join(out) + way[position:]


def damaged(data: bytes, random: Random, tokens: list[bytes]) -> bytes:
    """A few bytes changed, lost, doubled or moved, or a token put somewhere."""
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 3, 8])):
        position = random.randrange(len(changed) + 1)
        span = random.choice([1, 1, 2, 5, 30])
        way = random.randrange(6)
        if way == 0:
            del changed[position : position + span]
        elif way == 1:
            changed[position:position] = changed[position : position + span] * random.choice([1, 2, 50])
        elif way == 2 and changed:
            changed[position % len(changed)] = random.randrange(256 if random.random() < 0.2 else 128)
        elif way == 3:
            changed[position:position] = random.choice(tokens)
        elif way == 4:
            there = random.randrange(len(changed) + 1)
            piece = changed[position : position + span]
            del changed[position : position + span]
            changed[there:there] = piece
        else:
            changed[position:position] = random.choice(
                [random.randbytes(span), bytes(random.choices(range(32, 127), k=span))]
            )
    return bytes(changed)


ODD = [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\x8b",
    b"\xed\xa0\x80",
    b"\r",
    b"\r\n",
    b"\n",
    b"\t",
    b'"',
    b"'",
    b",",
    b";",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b"&a",
    b"*a",
    b"!!python/object:os.system",
    b"---\n",
    b"<<: ",
    b"1e999",
    b"-0",
    b"NaN",
    b"9" * 400,
    b"2:30",
    b"0x1f",
    b"1_000",
    b"~",
    b"null",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\x1b[31m",
    b"--",
    b"/*",
    b"%s",
    b"$",
    "Ａ".encode(),
    "ß".encode(),
    "İ".encode(),
    b"a" * 3000,
    b"\\",
    b"|",
    b">",
    b": ",
    b"? ",
    b"- ",
    b"#",
]

# Alternatives that stand several times are taken so much more often: most of a sentence should be sound, or nothing is
# reached behind the first refusal.
POLICY: Grammar = {
    "policy": ["version: 1\nattributes:\n<quasi><sensitive><other><more>"] * 4
    + ["version: 1\n<rules><more>", "<tops>"],
    "quasi": [
        "  age: {role: quasi, type: number<weight>}\n",
        "  age: {role: quasi, type: number, hierarchy: <intervals>}\n",
        "  sex: {role: quasi}\n  age: {role: quasi<weight>, hierarchy: <hierarchy>}\n",
        "  age: {role: quasi, type: number, <ends>}\n",
        "  sex: {role: quasi, <recoded>}\n",
        "  <name>: <flow>\n",
    ],
    "sensitive": [
        "  disease: {role: sensitive, l: 2}\n",
        "  disease: {role: sensitive, l: <l>, model: <model>}\n",
        "  disease: {role: sensitive, l: 2}\n  bill: {role: sensitive, l: <l>, type: number, bin: <number>}\n",
        "  disease: {role: sensitive, l: <l>, if_missing: <missing>}\n",
        "  disease: {role: sensitive, l: 2, case: <case>}\n",
        "  disease: {role: sensitive, at_most: {<name>: <share>}}\n",
        "  disease: {role: sensitive, l: <l>, gain: <number>, t: <share>}\n",
        "  disease: {role: sensitive, at_most: <value>, gain: <value>, t: <value>}\n",
        "  disease: {role: sensitive, l: 2, <recoded>}\n",
    ],
    "other": ["", "", "  ward: {role: plain}\n", "  id: {role: identifier}\n", "  <name>: <flow>\n"],
    "more": ["", "<top>", "<top><top>", "<top>"],
    "tops": ["<top>", "<top><tops>"],
    "rules": ["rules:\n  - age -> disease : l=2\n", "rules:\n  - age, sex -> disease : l=<l>\n  - <rule>\n"],
    "top": [
        "others: drop\n",
        "person: id\n",
        "missing: <list>\n",
        "k: <l>\n",
        "rules:\n  - <rule>\n",
        "adversaries:\n  - {knows: <known>}\n",
        "dependencies: [<dependency>]\n",
        "coincidences: [<dependency>]\n",
        "publish: {method: <method>}\n",
        "publish: {method: <method>, variant: <variant>, suppress: <share>}\n",
        "publish: {method: <method>, options: {<option>: <value>}}\n",
        "<key>: <value>\n",
    ],
    "flow": [
        "{role: quasi}",
        "{role: <role>}",
        "{role: quasi, weight: <number>}",
        "{role: quasi, type: number, breaks: [<number>, <number>]}",
        "{role: quasi, type: number, bins: {quantiles: <l>}}",
        "{role: <role>, order: [<value>, <value>, '<5', '5-9', 10+]}",
        "{<key>: <value>, <key>: <value>}",
        "<value>",
    ],
    "weight": ["", "", ", weight: 2", ", weight: <number>"],
    "intervals": [
        "{intervals: [10, 20]}",
        "{intervals: [<number>, <number>], start: <number>}",
        "{intervals: <value>}",
    ],
    "hierarchy": [
        "{mask: right}",
        "{mask: left}",
        "{file: tree.csv}",
        "{file: ../../etc/passwd}",
        "{columns: [sex]}",
        "{columns: <list>}",
        "{icd: 9}",
        "{icd: <number>}",
        "{date: [month, year]}",
        "{date: <list>}",
        "<value>",
        "{mask: <value>}",
    ],
    "ends": ["top: <number>", "bottom: <number>", "top: 90, bottom: 18", "top: <number>, bottom: <number>"],
    "recoded": [
        "rare: {below: 2}",
        "rare: {below: <l>, as: <name>}",
        "rare: {below: 2, along: <hierarchy>}",
        "rare: <value>",
        "missing: <list>",
        "missing: ['?', '']",
    ],
    "missing": ["drop", "refuse", "{as: unknown}", "<value>"],
    "model": [
        "frequency",
        "distinct",
        "entropy",
        "recursive, c: 2",
        "unique-distinct",
        "recursive, c: <number>",
        "<value>",
    ],
    "case": ["keep", "fold", "<value>"],
    "role": ["quasi", "plain", "identifier", "<value>"],
    "variant": ["hardened", "paper", "<value>"],
    "method": ["bsgi", "anatomy", "gd", "sloms", "auto", "decomposition", "randomized-addition", "kaca", "<value>"],
    "option": ["refine", "slices", "primary", "anonymizer", "claim", "mode", "<key>"],
    "key": [
        "l",
        "k",
        "role",
        "type",
        "model",
        "at_most",
        "gain",
        "t",
        "weight",
        "bin",
        "rare",
        "top",
        "bottom",
        "breaks",
        "bins",
        "order",
        "case",
        "person",
        "rules",
        "version",
        "<name>",
        "missing",
        "accept",
    ],
    "name": ["age", "sex", "disease", "drug", "bill", "'a b'", '"x"', "NO", "1", "~", "ﬂu", "'*'", "group", "count"],
    "l": ["2", "2", "3", "5", "<number>"],
    "share": ["0", "0.1", "0.5", "1/4", "25%", "1/0", "<number>"],
    "number": [
        "2",
        "3",
        "1",
        "0",
        "-1",
        "2.0",
        "1e3",
        "0.5",
        ".inf",
        ".nan",
        "9999999999999999999999",
        "'2'",
        "0b1",
        "1e-320",
        "1e308",
    ],
    "known": ["[age]", "[age, bill]", "[sex]", "<list>"],
    "list": ["[age]", "[]", "[<name>, <name>]", "[<value>]", '["", NA]', "<value>"],
    "value": [
        "x",
        "<number>",
        "[]",
        "{}",
        "null",
        "true",
        "[<value>]",
        "{<name>: <value>}",
        "'<name>'",
        "2026-01-01",
        "<list>",
    ],
    "rule": [
        "age -> disease : l=2",
        "sex -> drug : l=<l>",
        "<knows> -> <name> : l=<number>",
        "'<knows> -> <name> : l=2'",
        "<value>",
    ],
    "knows": ["<name>", "<name>, <knows>", "", '"city, state"'],
    "dependency": ["'age -> sex'", "'<knows> -> <name>'", "<value>"],
}

RULE: Grammar = {
    "rule": ["<side> -> <name> : l=<l>"] * 5
    + [
        "<side>-><name>:l=<l>",
        "<side> -> <name>",
        "<side> -> <side> : l=<l>",
        " -> <name> : l=2",
        "<side> <name> : l=2",
        "<side> -> <name> : l=<l> <name>",
        "<side> -> <name> : k=2",
    ],
    "side": ["<name>"] * 6 + ["<name>, <side>"] * 4 + ["<name>,", ",<name>"],
    "name": [
        "age",
        "sex",
        "disease",
        '"city, state"',
        '"the ""best"""',
        '"',
        '""',
        "a b",
        "x:y",
        "->",
        "l=2",
        "ä",
        "*",
        "\u200b",
        "- >",
        '" x"',
        '"->"',
        "zip",
        "job",
    ],
    "l": [
        "2",
        "3",
        "4",
        "9",
        "2",
        "3",
        "5",
        "7",
        "2",
        "3",
        "1",
        "0",
        "-2",
        "2.5",
        "99999999999999999999999999999999999",
        "",
        "two",
        "٢",
        "2 ",
    ],
}

CSV: Grammar = {
    "table": ["a,b\n<rows>", "a<sep>b<sep>c\n<rows>", "<row><rows>", '"a","b"\n<rows>', "a,b\r\n<rows>", "a\n<rows>"],
    "rows": ["", "<row><rows>", "<row><row><rows>"],
    "row": [
        "<cell>,<cell><end>",
        "<cell>,<cell>\n",
        "<cell>,<cell>\n",
        "<cell><sep><cell><sep><cell><end>",
        "<cell><end>",
        "<end>",
    ],
    "cell": [
        "",
        "x",
        "1",
        '"x"',
        '"x,y"',
        '"x\ny"',
        '"x""y"',
        '""',
        " x ",
        '"x',
        'x"y',
        '"x"y',
        "=1+1",
        "é",
        "'",
        "\t",
        '"\r\n"',
        "1,5",
        '" "',
        "null",
        "-",
        "\u2028",
    ],
    "sep": [",", ";", "\t", "|", ":"],
    "end": ["\n", "\r\n", "\n\n", "\r", ""],
}

TREE: Grammar = {
    "tree": ["<lines>"],
    "lines": ["<line>", "<line><lines>", "<line><line><lines>"],
    "line": [
        "<leaf>;<inner>;*\n",
        "<leaf>;<inner>;*\n",
        "a;ab;*\n",
        "b;ab;*\n",
        "c;cd;*\n",
        "<leaf><s><inner><s>*\n",
        "<leaf><s>*\n",
        "<leaf><s><inner><s><inner><s>*\n",
        "<leaf>\n",
        "\n",
        "<leaf><s><inner><s><inner>\n",
    ],
    "s": [";", ";", ";", ","],
    "leaf": ["a", "b", "c", "d", "e", '"a;b"', "*", "", " a", "A", "ﬀ", "null", "{a}", "[1, 2]", "\u200ba"],
    "inner": ["ab", "cd", "x", "a", "*", "", "AB", '"x;y"', "null"],
}
