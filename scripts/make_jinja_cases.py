#!/usr/bin/env python3
"""Renders our Jinja cases with Python's jinja2, set up as transformers sets it up, and writes what tests/text compares.

    make_jinja_cases.py tests/data/jinja_cases.json     (needs jinja2)
    make_jinja_cases.py --random COUNT SEED             prints random cases, one JSON object a line
"""
import datetime
import itertools
import json
import random
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2025, 3, 4, 5, 6, 7)


def environment():
    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

        def _render(self, caller):
            return caller()

    class Namespace(jinja2.utils.Namespace):
        def __init__(*args, **kwargs):
            self, args = args[0], args[1:]
            attributes = dict(*args, **kwargs)
            for name in attributes:
                Namespace.check(name)
            jinja2.utils.Namespace.__init__(self, attributes)

        def __setitem__(self, name, value):
            Namespace.check(name)
            jinja2.utils.Namespace.__setitem__(self, name, value)

        @staticmethod
        def check(name):
            if isinstance(name, str) and name.startswith("_"):
                raise jinja2.exceptions.SecurityError(name)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: NOW.strftime(format)
    env.globals["namespace"] = Namespace
    return env


ENV = environment()


def render(template, context):
    try:
        output = ENV.from_string(template).render(**context)
        output.encode()
        return {"output": output}
    except Exception as error:  # whatever Python raises is an error for us too
        return {"error": True, "reason": f"{type(error).__name__}: {error}"[:120]}


DATA = {
    "n": 7, "m": -3, "f": 2.5, "s": "Hello World", "u": "Größe 歪 émoji 😀", "e": "", "z": 0, "t": True, "no": False, "nil": None,
    "l": [3, 1, 2], "w": ["b", "A", "c", "B"], "d": {"b": 1, "a": 2, "items": 5, "x y": [1, {"k": "v"}]},
    "users": [{"name": "Zoe", "age": 31, "tags": ["x"]}, {"name": "amy", "age": 25, "tags": []}, {"name": "Bob", "age": 31, "tags": ["y", "x"]}],
    "text": "one two\n  three\n\nfour-five six", "html": "<a href='x'>T & \"q\"</a>",
}

EXPRESSIONS = r"""
1 + 2 * 3 | 7 // 2 | -7 // 2 | 7 // -2 | -7 % 3 | 7 % -3 | 7.5 // 2 | -7.5 % 2 | 2 ** 10 | 2 ** -1 | -2 ** 2 | 2 ** 3 ** 2 | 7 / 2 | 6 / 2 | 1 / 0 | 1 % 0
1e16 | 1e15 | 1e-4 | 1e-5 | 0.1 + 0.2 | 1.0 | 100000.0 * 10 | 1e300 * 1e10 | 3.0 // 1 | 1_000 | 0x1f | 0b101 | 0o17 | 12345678901234567.0 | 1.5e3 | -0.0
'a' * 3 | 3 * 'ab' | [1] * 2 | [1] + [2, 3] | (1,) + (2,) | 'a' + 1 | 'a' ~ 1 ~ none ~ true | 1 < 2 < 3 | 1 < 3 < 2 | 3 > 2 >= 2 | 1 == 1.0 | true == 1 | 'a' < 'b' | 'a' < 1 | [1, 2] < [1, 3]
1 in [1, 2] | 'a' in 'abc' | 'b' in d | 'q' not in d | 1 in 'abc' | not 1 in [2] | none in [none] | missing in [1] | 'a' in missing
n if t else m | n if no | (n if no) is defined | 1 and 2 | 0 or 'x' | not t | not not n | none or none | '' and 1 | t and no or n
s[0] | s[-1] | s[1:4] | s[::-1] | s[::2] | s[-3:] | s[:-3] | s[10:2:-2] | u[6] | u[::-1] | u|length | l[5] | l[-1] | l[1:] | l[::-1] | l[:1] + l[2:] | s[100] is defined | (1, 2, 3)[1] | l['0'] | d['b'] | d.b | d.items | d['items'] | d.nope is defined | nil.x | missing.x | missing['x'] | missing + 1 | missing | l[::0] | s[1:'a'] | nil[1:]
[1, 'a', none, true, 2.0, "it's", 'q"q', 'both\'"'] | {'a': 1, 'b': [1, 2], 3: none} | (1,) | () | [] | {} | (1, 'x') | 'tab\there' | ['tab\t\n\\ é \x00 ​'] | [u] | {'k': {'n': (1, 2)}} | {1: 'a', 1.0: 'b', true: 'c'} | {[1]: 2}
l|sort | w|sort | w|sort(case_sensitive=true) | w|sort(reverse=true) | users|sort(attribute='name')|map(attribute='name')|list | users|sort(attribute='age,name')|map(attribute='name')|join(',') | ['a', 1]|sort | d|dictsort | d|dictsort(by='value') | {'b': 1, 'A': 2}|dictsort(true) | {'b': 1, 'A': 2}|dictsort(reverse=true) | {'b': 1, 'A': 2}|dictsort(by='x')
l|first | l|last | []|first | ''|last | l|length | l|count | d|length | n|length | l|sum | users|sum(attribute='age') | l|sum(start=10) | l|max | l|min | w|max | w|min | users|max(attribute='age') | []|min | l|reverse|list | s|reverse | l|list | s|list | d|list
l|join | l|join(', ') | users|join(', ', attribute='name') | w|unique|list | w|unique(true)|list | w|map('upper')|list | w|map('upper')|join('-') | users|map(attribute='tags.0')|list | users|map(attribute='zip', default='none')|list | w|map('nope')|list | l|select('odd')|list | l|reject('odd')|list | users|selectattr('age', 'gt', 30)|map(attribute='name')|list | users|rejectattr('tags')|list|length | users|selectattr('name', 'equalto', 'Bob')|list | l|select|list | l|select('nope')|list | [0, 1, '']|select|list
users|groupby('age')|list | users|groupby('age')|map(attribute='grouper')|list | l|batch(2)|list | l|batch(2, 'x')|list | l|slice(2)|list | l|slice(2, 'x')|list | range(10)|slice(3)|list | range(5)|batch(3, 0)|list | l|slice(0)|list
'42'|int | '4.7'|int | 'x'|int | 'x'|int(9) | '0x1f'|int(0, 16) | '12'|int(base=8) | ' 5 '|int | none|int | 3.99|int | -3.99|int | true|int | missing|int | '1_0'|int | [1]|int | '1.5'|float | 'x'|float | 'x'|float(1.5) | 1|float | 'inf'|float | '1e3'|float | missing|float
2.5|round | 3.5|round | 2.675|round(2) | 1234.5678|round(-2) | 2.1|round(method='ceil') | 2.9|round(0, 'floor') | 2.123|round(1, 'ceil') | 7|round | 15|round(-1) | 25|round(-1) | 'x'|round | -5|abs | 2.5|abs | 'x'|abs | 1|filesizeformat | 1500|filesizeformat | 1500000|filesizeformat(true) | 5|filesizeformat
s|upper | s|lower | 'hELLO wORLD'|title | "it's a-b (c) [d]"|title | 'hELLO'|capitalize | 'ß straße'|upper | 'ΑΣ ΑΣ'|lower | s|replace('l', 'L') | s|replace('l', 'L', 1) | s|replace('', '-') | 123|replace(2, 'x') | '  x '|trim | 'xxaxx'|trim('x') | n|string | s|center(20) | 'ab'|center(5) | 'abc'|center(6) | s|wordcount | 'a-b c_d'|wordcount | html|escape | html|e | html|forceescape | html|safe | html|striptags | '<p>a  b</p> <!-- c --> d &lt;'|striptags
text|indent | text|indent(2, true) | text|indent(2, blank=true) | text|indent('> ') | 'x'|indent(first=true) | s|truncate(8) | s|truncate(8, true) | s|truncate(5, leeway=0) | s|truncate(8, end='~', leeway=0) | s|truncate(2) | text|wordwrap(8) | 'abcdefghij'|wordwrap(4) | 'abcdefghij klm'|wordwrap(4, false) | 'a bb ccc dddd eeeee'|wordwrap(6, wrapstring='|') | 'well-known far-fetched'|wordwrap(7) | 'a b/c?d=é&f'|urlencode | {'a': 1, 'b c': 'd/e'}|urlencode | [('a', 'b')]|urlencode | {'class': 'x', 'id': none, 'a': '<'}|xmlattr | {'a b': 1}|xmlattr | {'a': 1}|xmlattr(false)
'%s-%d'|format('a', 5) | '%5.2f|%-5s|%05d'|format(3.14159, 'ab', 42) | '%(a)s'|format(a=1) | '%x %X %o'|format(255, 255, 8) | '%r'|format('q') | '%d'|format('x') | '%s %s'|format(1) | '%s'|format(1, 2) | '%%'|format | '%+d % d'|format(5, 5) | '%e'|format(12345.678) | '%g'|format(0.0001) | '%.3s'|format('abcdef') | '%c'|format(65) | '%5%'|format | 'a%sb' % 'x' | '%s and %s' % (1, 2) | '%s' % [1] | '%*d'|format(5, 3)
'{} {}'.format(1, 'a') | '{0}{1}{0}'.format(1, 2) | '{a} {b[k]} {c.k}'.format(a=1, b={'k': 2}, c={'k': 3}) | '{:>5}|{:<5}|{:^5}'.format('a', 'b', 'c') | '{:05d} {:+} {:,}'.format(42, 5, 1234567) | '{:.2f} {:e} {:%}'.format(3.14159, 1234.5, 0.25) | '{:x} {:#x} {:b} {:o}'.format(255, 255, 5, 8) | '{!r}'.format('a') | '{{}}'.format() | '{}'.format() | '{:*^9}'.format('mid') | '{x}'.format() | '{:d}'.format('a') | '{:.3}'.format('abcdef') | '{:{w}}|'.format('a', w=4) | '{:g}'.format(1e10) | '{:.3}'.format(2.0) | '{0} {}'.format(1, 2)
s.upper() | s.lower() | s.split() | s.split('o') | s.split('o', 1) | s.split(none, 1) | s.split(maxsplit=1) | s.rsplit('o', 1) | ' a  b c '.split() | ' a  b c '.rsplit(none, 1) | 'a,b,,c'.split(',') | ''.split() | ''.split(',') | s.split('') | text.splitlines() | text.splitlines(true) | 'a\r\nb\rc\n'.splitlines() | s.strip('Hd') | '  x '.strip() | '  x '.lstrip() | '  x '.rstrip() | 'xxyxx'.lstrip('x') | 'xxyxx'.rstrip('x') | s.startswith('He') | s.startswith(('x', 'He')) | s.endswith('ld') | s.endswith(('x',)) | s.startswith('llo', 2) | s.startswith(['He'])
s.replace('o', '0') | s.replace('o', '0', 1) | s.find('o') | s.find('o', 5) | s.find('q') | s.rfind('o') | s.index('q') | s.index('W') | s.count('l') | s.count('') | u.find('😀') | s.title() | "they're ok".title() | s.swapcase() | 'abc'.capitalize() | '-'.join(['a', 'b']) | '-'.join([1]) | '-'.join('abc') | '5'.zfill(3) | '-5'.zfill(4) | 'a'.ljust(3, '.') | 'a'.rjust(3) | 'ab'.center(5, '*') | '12'.isdigit() | '1a'.isdigit() | ''.isdigit() | 'ab'.isalpha() | 'a1'.isalnum() | ' '.isspace() | 'AB'.isupper() | 'ab'.islower() | 'Ab Cd'.istitle() | 'pre-x'.removeprefix('pre-') | 'x.py'.removesuffix('.py') | 'a=b=c'.partition('=') | 'a=b=c'.rpartition('=') | 'abc'.partition('=') | s.nope() | s.upper | s['upper']() | '٣'.isdigit() | '½'.isnumeric() | s.isascii() | u.isascii() | u.upper()
d.get('a') | d.get('q') | d.get('q', 5) | d.keys() | d.values() | d.items() | d.keys()|list | d.items()|list | d|items|list | d.copy() | d.update({'q': 1}) | d.pop('a') | d.setdefault('a', 1) | d.update is defined | l.append(1) | l.append is defined | l.index(1) | l.index(9) | l.count(3) | l.extend([1]) | l.pop() | l.copy() | (1, 2).count(1) | d.keys()[0] is defined | missing|items|list | 5|items | d.keys()|length | d.clear()
range(3) | range(3)|list | range(1, 7, 2)|list | range(5, 0, -2)|list | range(0) | range(3)[1] | range(10)[2:5] | range(10)[::3] | range(1000000) | range() | range(1, 2, 0) | range('a') | 2 in range(3) | range(3)|length | range(3) + [1] | dict(a=1, b=2) | dict({'a': 1}, b=2) | dict([('a', 1)]) | dict(1) | namespace(a=1).a | namespace(a=1).b is defined | namespace(_a=1) | namespace(a=1) | cycler('a', 'b').next() | cycler() | joiner('|')() | raise_exception('no') | lipsum is defined | strftime_now('%Y-%m-%d') | strftime_now('%d %b %Y %H:%M:%S %%') | strftime_now('%A %B %-d %j')
1 is odd | 2 is even | 'a' is odd | 6 is divisibleby 3 | 6 is divisibleby(4) | missing is defined | missing is undefined | n is defined | nil is none | n is not none | n is number | f is float | n is integer | t is integer | t is boolean | s is string | d is mapping | l is sequence | s is sequence | d is sequence | n is iterable | s is iterable | missing is iterable | l is iterable | d.items() is sequence | d.items() is iterable | range is callable | n is callable | 'upper' is filter | 'nope' is filter | 'odd' is test | n is sameas n | none is sameas none | 1 is sameas true | 'ab' is lower | 'AB' is upper | 1 is in [1, 2] | 1 is eq 1 | 1 is ne 2 | 2 is gt 1 | 2 is ge 2 | 1 is lt 2 | 1 is le 0 | 1 is == 1 | true is true | 1 is true | false is false | t is not true | n is nope | 1 is odd is even | n is odd and m is odd | (n is odd) ~ 'x' | 3 is not divisibleby 2 or no
d|tojson | d|tojson(indent=2) | l|tojson | u|tojson | u|tojson(ensure_ascii=true) | d|tojson(sort_keys=true) | d|tojson(separators=(',', ':')) | d|tojson(indent=4, separators=(', ', ' : ')) | [1.0, 1e20, 1e-7, none, true, 'a"b\\c\n\t\x01/']|tojson | html|tojson | missing|tojson | range(3)|tojson | (1, 2)|tojson | {1: 2, none: 3, true: 4, 1.5: 5}|tojson | []|tojson(indent=2) | {}|tojson(indent=2) | [[], {}]|tojson(indent=1) | d|tojson(true) | [1, [2]]|tojson(indent='--') | l|map('string')|tojson | {'b': 1, 1: 2}|tojson(sort_keys=true) | [1]|tojson(indent=0) | d.items()|tojson | 'inf'|float|tojson
missing|default('x') | nil|default('x') | nil|default('x', true) | e|default('x', boolean=true) | missing|d | missing.x|default('x') | d|attr('items') is callable | d|attr('b') is defined | 'x'|attr('upper') is defined | l|pprint | d|pprint | missing|upper | missing|length | missing|list | missing|join | nil|upper | n|upper | nil|length | nil|list | 5|list | x|nope | s|upper|lower|title | (s|upper)[0] | s|upper[0] | (1, 2)|list + [3] | -5|abs | -(5|abs) | 'a' 'b' | "a\x41é\101\q" | 'a\
b' | [1, 2,] | (1, 2,) | {'a': 1,} | f(1) | s(1) | l.0 | users.0.name | users[0]['name'][0] | d['x y'][1].k | 1.5.real is defined | true.x is defined
[none == missing, missing == nope, missing != 1] | missing < 1 | missing ~ 'x' | missing * 2 | -missing | not missing | missing and 1 | missing() | l[missing] is defined | d[missing] is defined | d[l] is defined | {missing: 1} | [missing] | 1 if missing else 2 | 9223372036854775807 + 0 | 'a' * -1 | [1] * 0 | true + true | 5 // 0.0 | 5.0 % -3 | 1e308 * 10 | 0 ** 0 | 0 ** -1 | 4 ** 0.5 | n.x is defined | 1 > none | [1] > (1,) | {'a': 1} == {'a': 1.0} | (1, 2) == [1, 2] | 'é' == 'é' | d == d | [d] == [d] | 10000000000 * 10000000
"""


def expression_cases():
    for line in EXPRESSIONS.replace("\\\nb'", "\\\n\x00b'").strip().split("\n"):
        if line.startswith("\x00") or line.endswith("'a\\"):
            continue
        for expression in line.split(" | "):
            yield "{{ " + expression.strip() + " }}", DATA


def whitespace_cases():
    """Every sign on either side of every tag, with white space of several kinds around."""
    for left, right in itertools.product(["", "-", "+"], repeat=2):
        for before, after in itertools.product(["a ", "a\n", "a\n  ", "", "  "], ["b", " b", "\nb", "\n\n  b", " \n b"]):
            yield before + "{%" + left + " if t " + right + "%}" + after + "{% endif %}" + before + "c", DATA
        yield f"x\n  {{#{left} comment {right}#}}\n  y", DATA
        yield f"x  {{#{left}{right}#}}  y", DATA
        yield f"x\n  {{%{left} raw {right if right != '+' else ''}%}}\n  {{{{ n }}}} {{% if %}}\n  {{%{left} endraw {right}%}}\n  y", DATA
        if right != "+":
            yield f"x \n {{{{{left} n {right}}}}} \n y", DATA
        yield f"{{% for i in l {right}%}}\n  {{{{ i }}}}\n  {{%{left} endfor %}}\n end", DATA
        yield f"  {{%{left} set q = 1 {right}%}}  \n{{{{ q }}}}\n", DATA
    for text in ["\n", "a\n", "a\n\n", "a\r\nb\rc\n", "{{ n }}\n", "{{ n }}\n\n", "{% if t %}x{% endif %}\n", "\n\n{% if t %}\n\nx\n\n{% endif %}\n\n",
                 "{{ '{{' }}", "{ {", "{", "a{b", "{{ {'a': {'b': 1}}['a']['b'] }}", "{% if t %}\t{% endif %}|", "a\u00a0{%- if t %}\u2003x{% endif -%}\u3000b", "{#\n\n#}\n{{ n }}",
                 "  {# a #}{# b #}\n x", "x {% if t %} {% if t %} y {% endif %} {% endif %} z", "\t{% if t -%}\n\n z {%- endif %}\n"]:
        yield text, DATA


STATEMENTS = [
    "{% for x in l %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ ', ' if not loop.last }}{% endfor %}",
    "{% for x in l %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('o', 'e') }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in [1, 1, 2, 2] %}{{ loop.changed(x) }}{% endfor %}", "{% for x in [] %}a{% else %}b{% endfor %}", "{% for x in l if x > 1 %}{{ x }}{{ loop.length }}{{ loop.index }}{% else %}none{% endfor %}",
    "{% for x in l if x > 5 %}{{ x }}{% else %}none{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for c in s %}{{ c }}.{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for x in 5 %}{% endfor %}", "{% for x in nil %}{% endfor %}", "{% for x in missing %}{% endfor %}ok",
    "{% for x in range(5) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% for y in l %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% for x in [[1, [2, 3]], 4] recursive %}{% if x is iterable %}<{{ loop(x) }}>{% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}", "{% for x in l %}{{ loop(l) }}{% endfor %}", "{% for x in l %}{% endfor %}{{ x }}{{ loop }}",
    "{% break %}", "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", "{% set a = 1 %}{% for x in l %}{% set a = a + x %}{{ a }},{% endfor %}{{ a }}", "{% set ns = namespace(a=0) %}{% for x in l %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }}",
    "{% set ns = namespace(f=false) %}{% for x in l if not ns.f %}{{ x }}{% set ns.f = true %}{% endfor %}", "{% set ns = namespace(f=false) %}{% for x in l if not ns.f %}{{ loop.last }}{{ x }}{% set ns.f = true %}{% endfor %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = [1] %}", "{% set (a, b) = (1, 2) %}{{ a + b }}", "{% set x = 1, 2 %}{{ x }}", "{% set x %}a{{ n }}b{% endset %}[{{ x }}]", "{% set x | upper | replace('A', 'z') %}ab{% endset %}{{ x }}", "{% set d.x = 1 %}", "{% set missing.x = 1 %}", "{% set true = 1 %}", "{% set 1 = 1 %}", "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "{% set ns = namespace() %}{% set ns.t %}abc{% endset %}{{ ns.t }}{{ ns['t'] }}", "{% set ns = namespace(a=1) %}{% set ns.a, b = 2, 3 %}{{ ns.a }}{{ b }}", "{% if t %}{% set x = 1 %}{% endif %}{{ x }}", "{% if no %}a{% elif n == 7 %}b{% elif t %}c{% else %}d{% endif %}", "{% if no %}{% elif z %}{% else %}e{% endif %}", "{% if l and not e %}y{% endif %}", "{% if 1, %}x{% endif %}", "{% if %}x{% endif %}",
    "{% macro m(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, c=5) }}|{{ m(b=3, a=0) }}|{{ m() }}", "{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(x=2) }}", "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}hi {{ n }}{% endcall %}",
    "{% macro m(l) %}{% for x in l %}{{ caller(x, 'k') }}{% endfor %}{% endmacro %}{% call(x, y) m([1, 2]) %}<{{ x }}{{ y }}>{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}{% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "{% macro f(k) %}{{ k }}{{ f(k - 1) if k > 0 }}{% endmacro %}{{ f(4) }}", "{% macro m() %}{{ later }}{% endmacro %}{% set later = 5 %}{{ m() }}", "{% macro m() %}{% set q = 1 %}{% endmacro %}{{ m() }}{{ q }}", "{{ m() }}{% macro m() %}{% endmacro %}", "{% macro m(a, a) %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ [1, 2]|map('string')|map('upper')|join }}{{ m.name }}{{ m.arguments }}{{ m.caller }}", "{% macro m(x) %}a{% endmacro %}{{ m(1)|upper ~ m(2) }}{{ m(*[1]) }}{{ m(**{'x': 1}) }}", "{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}{{ inner is defined }}", "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% set q = 5 %}{% macro m(a=q) %}{{ a }}{% endmacro %}{% set q = 6 %}{{ m() }}",
    "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}aa{% endfilter %}", "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}", "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a }}", "{% with a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{% endwith %}", "{% generation %}{{ s }}{% endgeneration %}!", "{% raw %}{{ x }}{% endraw %}", "{% raw %}a", "{# a", "{{ 'a", "{{ a", "{% if t %}", "{% endif %}", "{% nope %}", "{{ }}", "{{ 1 2 }}", "{{ (1 }}", "{{ 1) }}", "{{ [1} }}", "{{ a. }}", "{{ a.b. }}", "{{ | upper }}", "{{ a | }}", "{% for x %}{% endfor %}", "{% for in l %}{% endfor %}", "{% set x %}", "{{ a ! b }}", "{{ a $ }}", "{{ f(a=1, 2) }}", "{{ dict(a=1, a=2) }}",
    "{% print 1, n %}", "{% autoescape true %}{{ n }}{% endautoescape %}", "{% set x = l|map('string') %}{{ x|join }}-{{ x|join }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}", "{% set j = joiner(', ') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}", "{% set x = [1, 2] %}{% set y = x + [3] %}{{ x }}{{ y }}", "{% for x in l %}{% if loop.first %}{% set q = x %}{% endif %}{{ q }}{% endfor %}", "{% for u in users|sort(attribute='age', reverse=true) %}{{ u.name }}{% endfor %}", "{% for age, group in users|groupby('age') %}{{ age }}:{{ group|map(attribute='name')|join('+') }};{% endfor %}", "{% for g in users|groupby('age') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}{% endfor %}", "{% for k, v in d|items %}{{ k }}{{ loop.last }}{% endfor %}", "{{ 'x' if n is defined and n > 5 else 'y' }}", "{{ ('a' if no else 'b' if no else 'c') }}", "{{ n if n }}{{ 1 if no }}", "{{- s -}} x {{- s }}", "{% set tools = none %}{% if tools is not none and tools|length > 0 %}a{% else %}b{% endif %}", "{% if d.b is defined and d['b'] == 1 %}y{% endif %}", "{% if s.split('o')[-1].strip() == 'rld' %}y{% endif %}", "{{ raise_exception('Roles must alternate: ' + s) }}", "{%- for m in users[::-1] %}{{ loop.index }}{{ m.name }}{%- endfor %}", "{{ users[1:]|map(attribute='name')|list }}", "{% for x in users|selectattr('tags') %}{{ x.name }}{{ loop.length }}{% endfor %}",
    "{% for x in l %}{% set loop = 5 %}{{ loop }}{% endfor %}", "{% set x = loop %}{{ x is defined }}", "{% include 'a' %}", "{% import 'a' as b %}", "{% from 'a' import b %}", "{% extends 'a' %}", "{{ [[1, 2], [3]]|sum(start=[]) }}", "{{ 'a,b'.split(',')|map('upper')|list|tojson }}", "{{ {'a': 1}.items()|list }}", "{{ (l|sort)[0] }}", "{% set s2 = s | upper %}{{ s2 }}", "{{ s | length > 5 and s | upper == 'HELLO WORLD' }}", "{{ -n|abs }}", "{{ 2 * n|string }}", "{{ n ~ m|abs }}", "{{ 1 - 1 ~ 'x' }}", "{{ not n == 7 }}", "{{ n == 7 if t else 3 }}", "{{ [1,2,3][n - 6] }}", "{{ 'a' in ['a'] and 'b' not in ['a'] }}", "{{ (not t) or t }}",
]

TOOLS = [{"type": "function", "function": {"name": "find_pages", "description": "Finds <pages> & \"more\"", "parameters": {"type": "object", "properties": {"query": {"type": "string", "description": "What"}, "limit": {"type": "integer", "default": 5}, "kind": {"type": "string", "enum": ["a", "b"]}}, "required": ["query"]}}},
         {"type": "function", "function": {"name": "now"}}]
CALLS = [{"type": "function", "id": "call_1", "function": {"name": "find_pages", "arguments": {"query": "tide 表", "limit": 2.0, "deep": {"a": [1, None, True]}}}}]
CHATS = [
    [{"role": "user", "content": "Hi\n there "}],
    [{"role": "system", "content": " Be terse. "}, {"role": "user", "content": "Zwei + 2?"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\n4"}, {"role": "user", "content": "ok"}],
    [{"role": "user", "content": [{"type": "text", "text": "see "}, {"type": "image"}, {"type": "text", "text": "this"}]}],
    [{"role": "user", "content": "tides?"}, {"role": "assistant", "content": "", "tool_calls": CALLS, "reasoning_content": "I look.\n"}, {"role": "tool", "content": "{\"high\": 3}", "tool_call_id": "call_1", "name": "find_pages"}, {"role": "tool", "content": "x"}, {"role": "assistant", "content": "At 3."}, {"role": "user", "content": "thanks"}],
    [{"role": "assistant", "content": "first"}, {"role": "alien", "content": "second"}],
    [],
]

FAMILIES = [
    # Header-and-turn style with a date, custom tools and tool results as ipython
    """{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- else %}{%- set date_string = "1 Jan 2024" %}{%- endif %}
{%- endif %}
{%- if messages and messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content']|trim %}{%- set messages = messages[1:] %}
{%- else %}{%- set system = "" %}{%- endif %}
{{- "<|head|>system<|/head|>\\n\\nToday: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {{- "Functions:\\n\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system + "<|eot|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|head|>' + message['role'] + '<|/head|>\\n\\n' + (message['content'] | trim if message.content is string else message.content[0].text) + '<|eot|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- raise_exception("one call at a time") }}{%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '{"name": "' + call.name + '", "parameters": ' }}{{- call.arguments | tojson }}{{- "}<|eot|>" }}
    {%- else %}
        {{- "<|head|>ipython<|/head|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}{{- message.content | tojson }}{%- else %}{{- message.content }}{%- endif %}
        {{- "<|eot|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|head|>assistant<|/head|>\\n\\n' }}{%- endif %}
""",
    # Turn tags with tools in XML, reasoning kept only after the last question
    """{%- if tools %}
    {{- '<|s|>system\\n' }}
    {%- if messages and messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\\n</tools><|e|>\\n" }}
{%- elif messages and messages[0].role == 'system' %}
    {{- '<|s|>system\\n' + messages[0].content + '<|e|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi and message.role == "user" and message.content is string and not(message.content.startswith('<r>') and message.content.endswith('</r>')) %}
        {%- set ns.multi = false %}{%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}{%- set content = message.content %}{%- else %}{%- set content = '' %}{%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|s|>' + message.role + '\\n' + content + '<|e|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or thought) %}
            {{- '<|s|>' + message.role + '\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}{{- '<|s|>' + message.role + '\\n' + content }}{%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}{{- '\\n' }}{%- endif %}
                {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
                {{- '<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|e|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|s|>user' }}{%- endif %}
        {{- '\\n<r>\\n' }}{{- content }}{{- '\\n</r>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|e|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|s|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}""",
    # TypeScript-like tool namespace with recursive macros and channels
    """{%- macro type_of(spec, required=[]) -%}
    {%- if spec.type == "array" -%}{{ type_of(spec['items']) }}[]
    {%- elif spec.type == "object" -%}{{- "{\\n" }}
        {%- for name, inner in spec.properties.items() -%}
            {{ name }}{%- if name not in (spec.required or []) -%}?{%- endif -%}{{ ": " }}{{ type_of(inner) }}
            {%- if not loop.last -%}{{ ", " }}{%- endif -%}
        {%- endfor -%}}
    {%- elif spec.enum is defined -%}{{ '"' + spec.enum|join('" | "') + '"' }}
    {%- elif spec.type in ["integer", "number"] -%}number
    {%- else -%}{{ spec.type }}{%- endif -%}
    {%- if spec.default is defined -%} // default: {{ spec.default }}{%- endif -%}
{%- endmacro -%}
{%- macro namespace_of(tools) -%}
    {{- "namespace functions {\\n\\n" }}
    {%- for tool in tools %}
        {%- set tool = tool.function %}
        {{- "// " + tool.description|default('no description') + "\\n" }}{{- "type " + tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}
            {{- "(_: " }}{{ type_of(tool.parameters) }}{{- ") => any;\\n\\n" }}
        {%- else %}{{- "() => any;\\n\\n" }}{%- endif %}
    {%- endfor %}
    {{- "}" }}
{%- endmacro -%}
<|start|>system<|message|>{{ "Date: " + strftime_now("%Y-%m-%d") }}<|end|>
{%- if tools %}{{- "<|start|>developer<|message|>" }}{{- namespace_of(tools) }}{{- "<|end|>" }}{%- endif %}
{%- set last_call = namespace(name=none) %}
{%- for message in loop_messages|default(messages) -%}
    {%- if message.role == 'assistant' -%}
        {%- if "tool_calls" in message %}
            {%- if message.reasoning_content and message.thinking %}{{ raise_exception("not both") }}{%- endif %}
            {%- set call = message.tool_calls[0] %}{%- if call.function %}{%- set call = call.function %}{%- endif %}
            {{- "<|start|>assistant to=functions." + call.name + "<|channel|>commentary json<|message|>" }}{{- call.arguments|tojson }}{{- "<|call|>" }}
            {%- set last_call.name = call.name %}
        {%- elif loop.last and not add_generation_prompt %}{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}{%- set last_call.name = none %}{%- endif %}
    {%- elif message.role == 'tool' -%}
        {%- if last_call.name is none %}{{- raise_exception("a result without a call") }}{%- endif %}
        {{- "<|start|>functions." + last_call.name }}{{- " to=assistant<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}{{- "<|start|>user<|message|>" ~ message.content ~ "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}""",
    # Instruction brackets with strict alternation, tools before the last user turn, call ids checked
    """{%- if messages and messages[0]["role"] == "system" %}{%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}
{%- else %}{%- set loop_messages = messages %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("Roles must alternate") }}{%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val|tojson }}{%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}{{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}{{- "[INST] " + message["content"] + "[/INST]" }}{%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 6 %}{{- raise_exception("ids must have 6 letters") }}{%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}{{- " " + message["content"]|trim + eos_token }}
    {%- elif message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}{%- set content = message.content.content %}{%- else %}{%- set content = message.content %}{%- endif %}
        {{- '[RESULTS] {"content": ' + content|string + "}[/RESULTS]" }}
    {%- else %}{{- raise_exception("Only user, assistant and tool, not " ~ message.role) }}
    {%- endif %}
{%- endfor %}
""",
    # Plain one-liners of older models
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<turn>' + role + '\n' + message['content'] | trim + '</turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<turn>model\n'}}{% endif %}",
    "{% for message in messages %}{{'<|im|>' + message['role'] + '\n' + message['content'] + '<|/im|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im|>assistant\n' }}{% endif %}",
    # Parts of content, with a first-turn prefix
    """{%- if messages and messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}{%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}{%- else -%}{%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}{%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}{%- set first_user_prefix = "" -%}{%- set loop_messages = messages -%}{%- endif -%}
{%- for message in loop_messages -%}
    {{ '<turn>' + message.role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}{{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}{{ '<img>' }}{%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}
        {%- endfor -%}
    {%- else -%}{{ raise_exception("Invalid content type") }}{%- endif -%}
    {%- generation -%}{{ '</turn>\n' }}{%- endgeneration -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{'<turn>model\n'}}{%- endif -%}
""",
    # Pythonic calls and XML parameters
    """{%- for m in messages %}
{%- if m.tool_calls %}
[{% for c in m.tool_calls %}{% set f = c.function %}{{ f.name }}({% for k, v in f.arguments|items %}{{ k }}={{ v if v is not string else "'" ~ v ~ "'" }}{{ ", " if not loop.last }}{% endfor %}){{ ", " if not loop.last else "" }}{% endfor %}]
{% for c in m.tool_calls -%}
<function={{ c.function.name }}>
{% for k, v in c.function.arguments.items() -%}
<parameter={{ k }}>
{{ v | tojson | safe if v is mapping or (v is sequence and v is not string) else v | string }}
</parameter>
{% endfor -%}
</function>
{% endfor %}
{%- else %}
<{{ m.role|upper }}>{{ m.content|replace("\\n", " ")|trim if m.content is string else m.content|selectattr('type', 'equalto', 'text')|map(attribute='text')|join }}
{%- endif %}
{%- endfor %}
{% if tools %}{{ tools|map(attribute='function')|map(attribute='name')|join('/') }}{{ tools|tojson(indent=2)|indent(2, true) }}{% endif %}""",
]


# The smallest inputs on which a random run once differed
FOUND = [
    "{{ (1, 'b')|truncate(6) }}{{ missing|truncate(6) }}", "{{ l|truncate(3, leeway=0) }}{{ 5|truncate }}", "{{ l|truncate(3, end='', leeway=-1) }}",
    "{{ 'a' % missing }}{{ 'a' % l }}{{ 'a' % d }}{{ 'a' % range(3) }}", "{{ 'a' % 'b' }}", "{{ 'a' % (1,) }}", "{{ '{:>4}'.format(true) }}{{ '{}'.format(true) }}",
    "{{ '{:s}'.format(true) }}", "{{ ' a  b c '.rsplit(none, 1) }}", "{{ '%5%'|format }}", "{% for x in l %}{% set loop = 5 %}{% endfor %}",
]


def cases():
    for template, context in itertools.chain(expression_cases(), whitespace_cases(), ((t, DATA) for t in STATEMENTS + FOUND)):
        yield template, context
    for template in FAMILIES:
        for chat in CHATS:
            for tools, prompt in [(None, True), (TOOLS, False)]:
                yield template, {"messages": chat, "tools": tools, "documents": None, "add_generation_prompt": prompt, "bos_token": "<s>", "eos_token": "</s>"}


class RandomTemplate:
    """Templates of a small grammar, mostly valid."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def expression(self, depth=0):
        r = self.random.random()
        if depth > 3 or r < 0.3:
            return self.pick("n", "m", "f", "s", "u", "e", "z", "t", "no", "nil", "l", "w", "d", "users", "missing", "text", "0", "1", "2", "-1", "2.5", "'a'", "'b c'", "''", "none", "true",
                             "[1, 2]", "['x', none]", "{'a': 1}", "(1, 'b')", "()", "users[0]", "d.b", "x", "range(3)", "'é😀'", "1e20", "0.1", "'%s'", "d.items()")
        a = self.expression(depth + 1)
        if r < 0.5:
            b = self.expression(depth + 1)
            return f"{a} {self.pick('+', '-', '*', '/', '//', '%', '~', '==', '!=', '<', '>=', 'in', 'not in', 'and', 'or')} {b}"
        if r < 0.75:
            return f"({a})|" + self.pick("upper", "lower", "title", "capitalize", "trim", "length", "list", "first", "last", "string", "int", "float", "tojson", "tojson(indent=1)", "join(',')", "sort", "reverse", "reverse|list", "unique|list", "sum", "min", "max",
                                         "default('q')", "default('q', true)", "replace('a', 'z')", "map('string')|list", "map('upper')|join", "select|list", "reject('odd')|list", "abs", "round", "round(1)", "indent(2)", "batch(2)|list", "slice(2)|list", "truncate(6)",
                                         "wordcount", "center(9)", "escape", "items|list", "dictsort", "map(attribute='name')|list", "urlencode", "format(1)", "title", "wordwrap(5)", "striptags", "filesizeformat", "pprint|length", "selectattr('age')|list|length", "count")
        if r < 0.85:
            return f"({a})" + self.pick(".upper()", ".split()", ".split('l')", ".strip('Hd')", ".startswith('H')", ".find('o')", ".get('a')", ".keys()|list", ".items()|list", ".title()", ".replace('l', '')", ".splitlines()", ".count('l')", ".isdigit()", ".index(1)", ".x", "['a']", "[0]", "[-1]", "[1:]",
                                        "[::-1]", "[:2]", "[1:3:2]", ".rsplit('o', 1)", ".partition('o')", ".join(['a', 'b'])", ".isupper()", ".zfill(5)", ".swapcase()", ".format(1)", ".0", "[none]", "['items']")
        if r < 0.93:
            return f"({a}) is {self.pick('', 'not ')}" + self.pick("defined", "none", "string", "number", "mapping", "sequence", "iterable", "odd", "even", "true", "integer", "float", "boolean", "divisibleby 2", "in [1, 'a']", "eq 1", "gt 1", "lower", "callable", "sameas none", "undefined")
        if r < 0.97:
            return f"({a}) if ({self.expression(depth + 1)}) else ({self.expression(depth + 1)})"
        return self.pick(f"not {a}", f"-{a}", f"[{a}]", f"{{'k': {a}}}", f"({a},)", f"dict(a={a})", f"'{{:>4}}'.format({a})", f"'%s' % {a}")

    def space(self):
        return self.pick("", "", " ", "\n", "\n  ", "  \n", "a", "a\n", "\t")

    def tag(self, body):
        return "{%" + self.pick("", "", "-", "+") + " " + body + " " + self.pick("", "", "-", "+") + "%}"

    def body(self, depth=0):
        return "".join(self.space() + self.statement(depth) + self.space() for _ in range(self.random.randint(1, 3 if depth else 2)))

    def statement(self, depth):
        r = self.random.random()
        if depth > 2 or r < 0.5:
            return "{{" + self.pick("", "-") + " " + self.expression(1) + " " + self.pick("", "-") + "}}"
        inner = self.body(depth + 1)
        if r < 0.6:
            return self.tag("if " + self.expression(2)) + inner + self.pick("", self.tag("else") + self.body(depth + 1)) + self.tag("endif")
        if r < 0.75:
            return self.tag("for x in " + self.pick("l", "w", "users", "range(2)", self.expression(2)) + self.pick("", "", " if x")) + inner + self.pick("", "{{ loop.index }}", "{{ loop.last }}", self.tag("break"), self.tag("else") + "E") + self.tag("endfor")
        if r < 0.85:
            return self.tag("set x = " + self.expression(2))
        if r < 0.9:
            return self.tag("set x") + inner + self.tag("endset")
        if r < 0.94:
            return self.tag("macro q(a, b=2)") + inner + "{{ a }}{{ b }}" + self.tag("endmacro") + "{{ q(" + self.expression(2) + ") }}"
        if r < 0.97:
            return self.tag("filter upper") + inner + self.tag("endfilter")
        return self.pick("{#", "{#-") + " c " + self.pick("#}", "-#}")


def is_address(output):
    return " at 0x" in output.get("output", "").lower()


def main():
    if sys.argv[1] == "--random":
        count, seed = int(sys.argv[2]), int(sys.argv[3])
        for i in range(count):
            template = RandomTemplate(seed * 1000003 + i).body()
            expected = render(template, DATA)
            if not is_address(expected):
                print(json.dumps({"template": template, "context": DATA, **expected}))
        return
    contexts, rows, seen = [], [], set()
    for template, context in cases():
        if context not in contexts:
            contexts.append(context)
        expected = render(template, context)
        key = (template, contexts.index(context))
        if key in seen or is_address(expected):
            continue
        seen.add(key)
        expected.pop("reason", None)
        rows.append({"template": template, "context": contexts.index(context), **expected})
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write('{"contexts": [\n' + ",\n".join(json.dumps(c, ensure_ascii=False) for c in contexts))
        file.write('\n],\n"cases": [\n' + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n]}\n")
    print(len(rows), "cases,", sum("error" in r for r in rows), "of them errors")


if __name__ == "__main__":
    main()
