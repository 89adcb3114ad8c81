"""Every function of the environment at least once: expressions that must be true, and ones that must fail."""

import pytest

from apportion.api.resource import Device
from apportion.cel import CelFeatures, compile_selector, device_facts

FACTS = device_facts("d", Device(name="x"))
LISTS = CelFeatures(list_type_attributes=True)

TRUE = r"""
1 + 2 * 3 - 4 == 3
7 / 2 == 3 && -7 / 2 == -3 && 7 % 3 == 1 && -7 % 3 == -1
7u / 2u == 3u && 7u % 4u == 3u
1.5 + 1.5 == 3.0 && 1.0 / 0.0 > 1e308
0x10 == 16 && 0xFFu == 255u && -0x10 == -16
-9223372036854775808 < 0
1 < 2u && 2u > 1 && 1.5 < 2 && 2 >= 1.5 && 1u <= 1.0
dyn(1) == 1.0 && dyn(1u) == 1 && dyn(true) != 1
"a" < "b" && b"a" < b"b" && false < true
"a" + "b" == "ab" && b"a" + b"b" == b"ab" && [1] + [2] == [1, 2]
2 in [1, 2] && !(3 in [1, 2]) && "a" in {"a": 1} && !("b" in {"a": 1})
!(true in {1: 2}.map(k, dyn(k))) && {1: "x"}[1] == "x"
size("añb") == 3 && "ab".size() == 2 && size([1, 2]) == 2 && {"a": 1}.size() == 1 && size(b"añ") == 3
[[1, 2], [3]][0][1] == 2 && {"a": {"b": [7]}}.a.b[0] == 7
(true ? 1 : 2) == 1 && (false ? 1 : 2) == 2
"\x41\u0042\103\n" == "ABC\u000a" && r"\d" == "\\d" && '''a"b''' == "a\"b" && b"\xff" != b"\xfe"
type(1) == int && type("a") == string && type(1u) == uint && type([1]) == list && type({1: 2}) == map
type(null) == null_type && type(int) == type && type(true) == bool && type(1.0) == double
int("12") == 12 && int(1.9) == 1 && int(5u) == 5 && uint(5) == 5u && uint("7") == 7u && double("1.5") == 1.5
string(1) == "1" && string(true) == "true" && string(1.5) == "1.5" && string(b"a") == "a" && string(2.0) == "2"
bytes("ab") == b"ab" && bool("true") && !bool("F") && dyn(1) == 1
duration("1h30m") == duration("90m") && duration("-1.5s") == duration("-1500ms")
string(duration("90m")) == "5400s" && duration("1h") + duration("1s") > duration("1h")
timestamp("2026-01-01T00:00:00Z") + duration("24h") == timestamp("2026-01-02T00:00:00Z")
timestamp("2026-01-01T01:00:00+01:00") == timestamp("2026-01-01T00:00:00Z")
timestamp("2026-03-01T00:00:00Z") - timestamp("2026-02-28T00:00:00Z") == duration("24h")
string(timestamp("2026-01-01T00:00:00.5Z")) == "2026-01-01T00:00:00.5Z"
timestamp(0) == timestamp("1970-01-01T00:00:00Z")
timestamp("2026-02-03T04:05:06.7Z").getFullYear() == 2026 && timestamp("2026-02-03T04:05:06Z").getMonth() == 1
timestamp("2026-02-03T04:05:06Z").getDate() == 3 && timestamp("2026-02-03T04:05:06Z").getDayOfMonth() == 2
timestamp("2026-02-03T04:05:06Z").getDayOfWeek() == 2 && timestamp("2026-02-03T04:05:06Z").getDayOfYear() == 33
timestamp("2026-02-03T04:05:06Z").getHours("+01:00") == 5 && timestamp("2026-02-03T04:05:06Z").getMinutes() == 5
timestamp("2026-02-03T04:05:06.7Z").getSeconds() == 6 && timestamp("2026-02-03T04:05:06.7Z").getMilliseconds() == 700
duration("90m").getHours() == 1 && duration("90m").getMinutes() == 90 && duration("1.5s").getMilliseconds() == 500
"hello".contains("ell") && "hello".startsWith("he") && "hello".endsWith("lo") && "hello".matches("l+o$")
matches("hello", "^h") && "a1b22".find("[0-9]+") == "1" && "a1b22".findAll("[0-9]+") == ["1", "22"]
"a1b22".findAll("[0-9]+", 1) == ["1"] && "abc".find("x") == ""
"hello".charAt(1) == "e" && "hello".charAt(5) == "" && "hello".indexOf("l") == 2 && "hello".indexOf("l", 3) == 3
"hello".lastIndexOf("l") == 3 && "hello".lastIndexOf("l", 2) == 2 && "hello".indexOf("z") == -1
"HeLLo".lowerAscii() == "hello" && "hello".upperAscii() == "HELLO" && " a ".trim() == "a"
"hello".substring(2) == "llo" && "hello".substring(1, 3) == "el" && "a-b-c".replace("-", "+") == "a+b+c"
"a-b-c".replace("-", "+", 1) == "a+b-c"
"a,b,c".split(",") == ["a", "b", "c"] && "abc".split("") == ["a", "b", "c"]
"a,b,c".split(",", 2) == ["a", "b,c"] && "a,b".split(",", 0) == []
["a", "b"].join("-") == "a-b" && ["a"].join() == "a"
"%d-%s-%.1f-%x-%b-%o-%X".format([dyn(10), "s", 1.25, 255, 5, 8, "ab"]) == "10-s-1.2-ff-101-10-6162"
"%s %s %s%%".format([dyn([1, 2]), {"a": 1}, null]) == "[1, 2] {a: 1} null%"
"%e".format([1234.5]) == "1.234500e+03" && strings.quote("a\n") == "\"a\\n\""
[1, 2, 3].isSorted() && !["b", "a"].isSorted() && [1, 2].sum() == 3 && [].sum() == 0 && [1.5, 1.5].sum() == 3.0
[3, 1].min() == 1 && [3, 1].max() == 3 && ["a", "b"].max() == "b"
[duration("1s"), duration("2s")].sum() == duration("3s")
[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(7) == -1
[1, 2, 3, 4].slice(1, 3) == [2, 3] && [[1], [2, 3]].flatten() == [1, 2, 3] && [1, 2, 1].distinct() == [1, 2]
[3, 1, 2].sort() == [1, 2, 3] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]
[1, 2].first().value() == 1 && [1, 2].last().orValue(0) == 2 && ![].first().hasValue()
["bb", "a"].sortBy(s, s.size()) == ["a", "bb"]
sets.contains([1, 2, 3], [2]) && !sets.contains([1], [2])
sets.equivalent([1, 2, 2], [2, 1]) && sets.intersects([1], [1, 2])
[1, 2].all(x, x > 0) && [1, 2].exists(x, x == 2) && [1, 2].exists_one(x, x == 2) && [1, 2].existsOne(x, x > 1)
[1, 2, 3].filter(x, x > 1) == [2, 3] && [1, 2].map(x, x * 2) == [2, 4] && [1, 2].map(x, x > 1, x * 2) == [4]
{"a": 1, "b": 2}.all(k, k != "c") && {"a": 1}.map(k, k) == ["a"] && [].all(x, false) && ![].exists(x, true)
[1, 2].all(i, v, v == i + 1) && {"a": 1}.exists(k, v, k == "a" && v == 1) && {"a": 1}.existsOne(k, v, v == 1)
[10, 20].transformList(i, v, i + v) == [10, 21] && [10, 20].transformList(i, v, i > 0, v) == [20]
{"a": 1}.transformMap(k, v, v + 1) == {"a": 2} && {"a": 1, "b": 5}.transformMap(k, v, v > 2, v) == {"b": 5}
{"a": "x"}.transformMapEntry(k, v, {v: k}) == {"x": "a"}
[[1], [2]].map(l, l.map(x, x + 1)) == [[2], [3]] && [1, 2].filter(x, [2, 3].exists(y, y == x)) == [2]
cel.bind(x, 1 + 1, x * x) == 4 && cel.bind(x, [1], cel.bind(y, x, y + x)) == [1, 1]
[1, 2].map(x, cel.bind(y, x * 2, y + y)) == [4, 8]
has({"a": 1}.a) && !has({"a": 1}.b) && {"a": 1}.?b.orValue(5) == 5 && {"a": {"b": 1}}.?a.b.value() == 1
{"a": 1}[?"a"].hasValue() && [1][?3].orValue(9) == 9 && optional.of(1).value() == 1 && !optional.none().hasValue()
optional.none().or(optional.of(2)).value() == 2 && optional.ofNonZeroValue(0) == optional.none()
[?optional.of(1), ?optional.none()] == [1] && {?"a": optional.of(1), ?"b": optional.none()} == {"a": 1}
optional.of(2).optMap(x, x + 1).value() == 3 && !optional.none().optMap(x, x).hasValue()
optional.of(2).optFlatMap(x, optional.of(x)).value() == 2 && optional.of(1) == optional.of(1)
quantity("1Ki") == quantity("1024") && quantity("1.5").isLessThan(quantity("2")) && sign(quantity("-1")) == -1
quantity("1500m").asApproximateFloat() == 1.5 && !quantity("100m").isInteger() && quantity("2k").asInteger() == 2000
quantity("1").add(quantity("1")).compareTo(quantity("2")) == 0 && quantity("3").sub(1) == quantity("2")
quantity("1").add(2) == quantity("3") && isQuantity("5Gi") && !isQuantity("5Gb")
quantity("100m").isLessThan(quantity("1")) && quantity("1.001") == quantity("1001m")
semver("1.2.3") == semver("1.2.3+build") && semver("1.2.3-a").isLessThan(semver("1.2.3"))
semver("1.2.3-alpha.2").isLessThan(semver("1.2.3-alpha.10")) && semver("1.0.0-1").isLessThan(semver("1.0.0-a"))
semver("v1.2", true) == semver("1.2.0") && semver("01.2.3", true).major() == 1 && isSemver("v1", true)
semver("2.3.4").minor() == 3 && semver("2.3.4").patch() == 4 && semver("2.0.0").compareTo(semver("1.0.0")) == 1
!isSemver("550.127.08") && isSemver("550.127.8")
ip("10.0.0.1").family() == 4 && ip("::1").isLoopback() && ip("0.0.0.0").isUnspecified() && isIP("fe80::1")
!isIP("::ffff:1.2.3.4") && ip("224.0.0.1").isLinkLocalMulticast() && ip("fe80::1").isLinkLocalUnicast()
ip("8.8.8.8").isGlobalUnicast() && ip.isCanonical("::1") && !ip.isCanonical("0::1") && string(ip("::1")) == "::1"
cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.0.0.0/8").containsIP(ip("10.1.2.3")) && isCIDR("::/0")
cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && !cidr("10.1.0.0/16").containsCIDR(cidr("10.0.0.0/8"))
cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && cidr("10.1.2.3/8").ip() == ip("10.1.2.3")
cidr("10.0.0.0/8").prefixLength() == 8 && string(cidr("10.0.0.0/8")) == "10.0.0.0/8" && !isCIDR("10.0.0.0")
url("https://u@h.example:8443/a b?k=v&k=w").getHost() == "h.example:8443"
url("https://[::1]:80/p").getHostname() == "::1" && url("https://h/p").getPort() == "" && isURL("/x") && !isURL("x")
url("https://h/a b").getEscapedPath() == "/a%20b" && url("https://h?k=v&k=w").getQuery() == {"k": ["v", "w"]}
url("https://h:1/").getPort() == "1" && url("https://h").getScheme() == "https"
[1, 2].includes(2) && !["a"].includes("b") && dyn(3).includes(3)
""".strip().splitlines()

FAILING = {
    "1 / 0 == 1": "division by zero",
    "1 % 0 == 1": "modulus by zero",
    "9223372036854775807 + 1 > 0": "integer overflow",
    "-9223372036854775807 - 2 < 0": "integer overflow",
    "-dyn(-9223372036854775807 - 1) > 0": "integer overflow",
    "0u - 1u > 0u": "unsigned integer overflow",
    "18446744073709551615u + 1u > 0u": "unsigned integer overflow",
    "0.0 / 0.0 < 1.0": "NaN values cannot be ordered",
    "dyn(1) + 'a' == '2'": "no such overload",
    "dyn('a') && true": "no such overload",
    "dyn('a') ? true : false": "no such overload",
    "{'a': 1}.b == 1": "no such key: b",
    "[1][1] == 1": "index out of bounds: 1",
    "[1][-1] == 1": "index out of bounds: -1",
    "{dyn(1): 1, dyn(1u): 2}.size() == 2": "Failed with repeated key: 1",
    "int(['x'][0]) == 1": "not an integer",
    "int(1e19 + 1.0) == 1": "integer overflow",
    "'abc'.charAt(4) == ''": "index out of range: 4",
    "'abc'.substring(2, 1) == ''": "invalid substring range",
    "[].min() == 1": "min called on empty list",
    "[1, 2].slice(1, 5) == [1]": "cannot slice(1, 5)",
    "[1, dyn('a')].isSorted()": "no such overload",
    "'%d'.format(['x']) == ''": "cannot format a value of type string",
    "'%q'.format([1]) == ''": "unrecognized formatting clause",
    "'%d %d'.format([1]) == ''": "index 1 out of range",
    "optional.none().value() == 1": "optional.none() dereference",
    "quantity('1.5').asInteger() == 1": "cannot convert value to integer",
    "quantity('x') == quantity('1')": "is not a quantity",
    "semver('1.2') == semver('1.2.0')": "No Major.Minor.Patch elements found",
    "semver('1.02.3').minor() == 2": "must not contain leading zeroes",
    "ip('1.2.3') == ip('1.2.3.4')": "parse error",
    "dyn(quantity('1')) == '1'": "no such overload",
    "timestamp('2026-01-01T00:00:00Z').getHours('Europe/Berlin') == 1": "unknown time zone",
    "timestamp('9999-12-31T23:59:59Z') + duration('2s') > timestamp(0)": "timestamp overflow",
    "lists.range(49).includes(77)": "more than 48 elements",
    "{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}) == {}": "key 1 already exists",
    "dyn(1).exists(x, x)": "no such overload",
    "dyn({'a': 1}) in {'a': 1}": "no such overload",
    "{'a': 1}[dyn([1])] == 1": "no such overload",
    "{dyn([1]): 1}.size() == 1": "no such overload",
    "[1][dyn(1.0 / 0.0)] == 1": "no such overload",
    f"semver('1.2.{'9' * 5000}').patch() == 1": "does not fit into 64 bits",
    f"'%.{'9' * 5000}f'.format([1.0]) == ''": "is above 100",
    f"int(['{'9' * 5000}'][0]) == 1": "integer overflow",
    f"duration(['{'9' * 5000}s'][0]) == duration('1s')": "the text is too long",
    "'a'.matches(['('][0])": "error parsing regexp",
}


@pytest.mark.parametrize("expression", TRUE)
def test_expression_is_true(expression: str) -> None:
    verdict = compile_selector(expression, LISTS).evaluate(FACTS)
    assert (verdict.match, verdict.error) == (True, None)


@pytest.mark.parametrize("expression", FAILING)
def test_expression_fails(expression: str) -> None:
    verdict = compile_selector(expression, LISTS).evaluate(FACTS)
    assert verdict.match is None
    assert FAILING[expression] in str(verdict.error)
