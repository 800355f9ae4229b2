import Testing

@Suite struct SyntaxFaultTests {
  /// Where YAML stumbles over an unquoted text, or takes it for something else, and the quoted text to write.
  @Test(arguments: [
    // `: `
    (
      "if: a ? b : c",
      "1:11: error: `: ` isn't allowed in a value without quotes; quote the whole value: `\"a ? b : c\"` [:]"
    ),
    (
      "k: ${{ a ? b : c }}",
      "1:14: error: `: ` isn't allowed in a value without quotes; quote the whole value: `\"${{ a ? b : c }}\"` [:]"
    ),
    (
      "k: ${{ {'é': 1} }} # c",
      "1:12: error: `: ` isn't allowed in a value without quotes; quote the whole value: `\"${{ {'é': 1} }}\"` [:]"
    ),
    (
      "k: ${{ x == \"b: c\" }}",
      "1:15: error: `: ` isn't allowed in a value without quotes; quote the whole value: `'${{ x == \"b: c\" }}'` [:]"
    ),
    (
      "- ${{ a ? b : c }}",
      "1:13: error: `: ` ends a key, even inside `${{`; quote the whole value: `\"${{ a ? b : c }}\"` [:]"
    ),
    (
      "k:\n  ${{ a ? b : c }}",
      "2:13: error: `: ` ends a key, even inside `${{`; quote the whole value: `\"${{ a ? b : c }}\"` [:]"
    ),
    (
      "k: ${{ a\n  ? b : c }}",
      "2:7: error: `: ` isn't allowed in a value without quotes; quote the whole value: `\"${{ … }}\"` [:]"
    ),
    (
      "ü: Größe: 3",
      "1:9: error: `: ` isn't allowed in a value without quotes; quote the whole value: `\"Größe: 3\"` [:]"
    ),
    ("w: {a: b: c}", "1:9: error: `: ` isn't allowed in a value without quotes; quote the whole value: `\"b: c\"` [:]"),
    // ` #`
    (
      "a: ${{ x == 'y #z' }}",
      "1:16: error: ` #` begins a comment, even inside `${{`; quote the whole value: `\"${{ x == 'y #z' }}\"` [#]"
    ),
    (
      "a: ${{\n  x #y\n  }}",
      "2:5: error: ` #` begins a comment, even inside `${{`; quote the whole value: `\"${{ … }}\"` [#]"
    ),
    // `{` and `[`
    (
      "w: { m: ${{ f(x, y) }} }",
      "1:9: error: an expression needs quotes inside { }; quote the whole value: `\"${{ f(x, y) }}\"` [${{]"
    ),
    (
      "w: [${{ x }}, b]",
      "1:5: error: an expression needs quotes inside [ ]; quote the whole value: `\"${{ x }}\"` [${{]"
    ),
    ("if: {{ x }}", "1:6: error: `{{` begins a map inside a map; write an expression as `\"${{ … }}\"` [{ x }]"),
    (
      "if: {'a': 1}.a == 1",
      "1:5: error: a value that begins with `{` ends at its `}`; quote the whole value: `\"{'a': 1}.a == 1\"` [{'a': 1}.a == 1]"
    ),
    (
      "if: [1, 2].size() > 0",
      "1:5: error: a value that begins with `[` ends at its `]`; quote the whole value: `\"[1, 2].size() > 0\"` [[1, 2].size() > 0]"
    ),
    (
      "w: {m: max(a, b)}",
      "1:13: error: `,` ends a value inside { }, even in parentheses; quote the whole value: `\"max(a, b)\"` [,]"
    ),
    (
      "w: [max(a, b) + 1, c]",
      "1:10: error: `,` ends a value inside [ ], even in parentheses; quote the whole value: `\"max(a, b) + 1\"` [,]"
    ),
    (
      "w: { m: 'a' in b }",
      "1:13: error: `,` or `}` is missing before this; if it belongs to the value before it, quote the whole value: `\"'a' in b\"` [i]"
    ),
    // `!`
    (
      "if: !has(x.y)",
      "1:5: error: `!` begins a tag in YAML, and only core tags such as `!!str` are known; quote the whole value: `\"!has(x.y)\"` [!has(x.y)]"
    ),
    (
      "if: ! found",
      "1:5: error: `!` begins a tag in YAML, and only core tags such as `!!str` are known; quote the whole value: `\"! found\"` [!]"
    ),
    (
      "if: !!a",
      "1:5: error: `!` begins a tag in YAML, and only core tags such as `!!str` are known; quote the whole value: `\"!!a\"` [!!a]"
    ),
    ("if: !a && b", "1:5: error: `!` begins a tag in YAML; quote the whole value: `\"!a && b\"` [!a && b]"),
    ("if: !(a || b)", "1:5: error: `!` begins a tag in YAML; quote the whole value: `\"!(a || b)\"` [!(a || b)]"),
    (
      "if: !a.b[0] == 1",
      "1:5: error: `!` begins a tag in YAML; quote the whole value: `\"!a.b[0] == 1\"` [!a.b[0] == 1]"
    ),
    // A quote at the beginning
    (
      "if: 'a' in b",
      "1:5: error: a value that begins with a quote ends at the next one; quote the whole value: `\"'a' in b\"` ['a' in b]"
    ),
    (
      "if: \"a\" + 'b' # c",
      "1:5: error: a value that begins with a quote ends at the next one; quote the whole value: `'\"a\" + ''b'''` [\"a\" + 'b']"
    ),
    (
      "- 'a' in b\n- c",
      "1:3: error: a value that begins with a quote ends at the next one; quote the whole value: `\"'a' in b\"` ['a' in b]"
    ),
    (
      "if: 'a' @b",
      "1:5: error: a value that begins with a quote ends at the next one; quote the whole value: `\"'a' @b\"` ['a' @b]"
    ),
    (
      "k: 'it's'",
      "1:7: error: this quote ends the text; inside single quotes write `''` for one, or put the whole value in double quotes [']"
    ),
    (
      "k: \"${{ a[\"b\"] }}\"",
      "1:11: error: this quote ends the text; inside double quotes write `\\\"` for one, or put the whole value in single quotes [\"]"
    ),
    (
      "w: {k: \"${{ a[\"b\"] }}\"}",
      "1:15: error: this quote ends the text; inside double quotes write `\\\"` for one, or put the whole value in single quotes [\"]"
    ),
    // `*` and `&`
    (
      "if: *x > 3",
      "1:5: error: `*` begins an alias in YAML, but no anchor `&x` comes before it; quote the whole value: `\"*x > 3\"` [*x]"
    ),
    ("k: *.txt", "1:4: error: `*` begins an alias in YAML; quote the whole value: `\"*.txt\"` [*.txt]"),
    (
      "w: [*b]",
      "1:5: error: `*` begins an alias in YAML, but no anchor `&b` comes before it; quote the whole value: `\"*b\"` [*b]"
    ),
    ("if: && b", "1:5: error: `&` begins an anchor in YAML; quote the whole value: `\"&& b\"` [&& b]"),
    (
      "if: &a b",
      "1:5: warning: `&` begins an anchor in YAML, and no alias uses this one; remove it, or quote the whole value: `\"&a b\"` [&a]"
    ),
    // Signs that begin no value
    ("k: %5", "1:4: error: no value begins with `%`; quote the whole value: `\"%5\"` [%5]"),
    ("- k: v\n  l: @x", "2:6: error: no value begins with `@`; quote the whole value: `\"@x\"` [@x]"),
    ("k: `x`", "1:4: error: no value begins with a backtick; quote the whole value: `\"`x`\"` [`x`]"),
    ("k: , x", "1:4: error: no value begins with `,`; quote the whole value: `\", x\"` [, x]"),
    ("k: > 3", "1:4: error: `>` begins a block of lines in YAML; quote the whole value: `\"> 3\"` [> 3]"),
    ("k: || x", "1:4: error: `|` begins a block of lines in YAML; quote the whole value: `\"|| x\"` [|| x]"),
    ("k: ? x", "1:4: error: `? ` isn't allowed here; quote the whole value: `\"? x\"` [?]"),
    (
      "k: - 3",
      "1:4: error: a list cannot begin on the line of its key; put each `- ` on a line of its own, or quote the whole value: `\"- 3\"` [-]"
    ),
    ("w: {m: 'a, b' @c}", "1:15: error: no value begins with `@`; quote the whole value: `\"${{ … }}\"` [@]"),
    ("w: {\n  m: @x,\n}", "2:6: error: no value begins with `@`; quote the whole value: `\"@x\"` [@]"),
    ("w: [&& b, c]", "1:5: error: `&` begins an anchor in YAML; quote the whole value: `\"&& b\"` [&]"),
    ("w: {m: !a && b}", "1:11: error: `&` begins an anchor in YAML; quote the whole value: `\"!a && b\"` [&]"),
    ("w: {m: > 3}", "1:8: error: `>` begins a block of lines in YAML; quote the whole value: `\"> 3\"` [>]"),
    ("@k: v", "1:1: error: no key begins with `@`; quote the key [@]"),
  ])
  func `advises to quote the whole value`(_ text: String, _ fault: String) {
    #expect(faults(in: text) == [fault])
  }

  @Test(arguments: [
    "k: ${{ a.b }}", "k: x-${{ a ?b:c }}-y # c", "k: ${{ a }} # }}", "k: a#b", "k: http://x", "k: (a, b)", "k: \"!a\"",
    "k: ${{ a\n  + b }}", "k: \"${{ a ? b : c }} # d\"", "k: [f(a), \"f(a, b)\"]", "${{ a }}: b", "k: a ? b", "k: -x",
    "k: :x",
    "k: it's", "k: |\n  ${{ a ? b : c }} # d", "- a\n- -b", "k: {a: , b: null}", "k: \tx\t# y",
  ])
  func `lets pass what YAML takes as it was meant`(_ text: String) {
    #expect(faults(in: text) == [])
  }

  @Test(arguments: [
    // Indentation
    ("a:\n\tb: 1", "2:1: error: a tab cannot indent; use spaces [\t]"),
    ("a:\n  b: 1\n\tc: 2", "3:1: error: a tab cannot indent; use spaces [\t]"),
    ("k: |\n \t x", "2:2: error: a tab cannot indent; use spaces [\t]"),
    (
      "a: 1\n  b: 2",
      "2:3: error: this line is indented more than the one above, so it continues its value; indent both alike [b]"
    ),
    ("- a\n  b: c", "2:3: error: no key can follow the item above, which is a text; give it a key: `- key: value` [b]"),
    (
      "a:\n    b: 1\n  c: 2",
      "3:3: error: this line is indented by 2, which fits no line above; indent it like the line it belongs beside [c: 2]"
    ),
    (
      "s:\n  - u: a\n   w: b # c",
      "3:4: error: this line is indented by 3, which fits no line above; indent it like the line it belongs beside [w: b]"
    ),
    (
      "  a: 1\nb: 2",
      "2:1: error: this line is indented by 0, which fits no line above; indent it like the line it belongs beside [b: 2]"
    ),
    (
      "- a\nb: 1",
      "2:1: error: a key isn't allowed among list items; put `- ` before it, or indent it below the item above [b: 1]"
    ),
    ("a: b\n- c", "2:1: error: a list item isn't allowed among keys; indent it below the key it belongs to [-]"),
    ("a:\n- b\n-c", "3:1: error: a space is missing after this `-` [-]"),
    (
      "a:\n - b\n  - c\n",
      "3:3: warning: this isn't a list item: it is indented more than the text above and continues it [-]"
    ),
    // Keys and colons
    (
      "a: 1\nbcd\ne: 2",
      "2:1: error: a `:` is missing after this key; write `key: value`, or indent the line to continue the text above [bcd]"
    ),
    ("k:v\nl: w", "1:1: error: a space is missing after the `:` here [k:v]"),
    ("a: {b:[c]}", "1:6: error: a space is missing after this `:`, or the text needs quotes [:]"),
    (": x", "1:1: error: a key is missing before this `:` [:]"),
    ("? : x", "1:3: error: a key is missing before this `:` [:]"),
    // Unclosed brackets and quotes, and unmatched closing brackets
    ("a: [1, 2", "1:4: error: this `[` is never closed; add `]` [[]"),
    ("a: {x: 1\nb: 3\nc: 4", "1:4: error: this `{` is never closed; add `}` [{]"),
    ("a: 'b\nc: d", "1:4: error: this quote is never closed [']"),
    ("a: \"b", "1:4: error: this quote is never closed [\"]"),
    ("a: [b]]", "1:7: error: this `]` closes nothing; remove it []]"),
    ("a: }", "1:4: error: this `}` closes nothing; remove it [}]"),
    ("a: [b, , c]", "1:8: error: a value is missing before this `,` [,]"),
    ("a: \"x\n--- \ny\"", "2:1: error: this line ends the document inside a quoted text; indent it [---]"),
    (
      "a: {b}",
      "1:5: warning: `b` has no value; write `b: null` if none is meant, or, if this is a text, quote the whole value: `\"${{ … }}\"` [b]"
    ),
    // Escapes and blocks
    (
      "a: \"\\d\"",
      "1:5: error: no escape begins like this in double quotes; write `\\\\` for a backslash, or use single quotes [\\d]"
    ),
    ("a: \"\\xZZ\"", "1:7: error: hexadecimal digits are missing here: `\\x` takes 2, `\\u` 4, `\\U` 8"),
    (
      "a: \"\\ud800\"",
      "1:5: error: this is one half of a character that is written in two, such as \\ud83e\\udd80; the other is missing [\\ud800]"
    ),
    (
      "a: \"\\Ud8000000\"",
      "1:7: error: this code isn't a character; characters above FFFF are written with `\\U` and 8 digits"
    ),
    ("a: |0\n x", "1:5: error: the indentation of a block is 1 to 9 [0]"),
    // Documents and directives
    ("", "1:1: error: the file is empty, or holds nothing but comments"),
    ("# c\n", "1:1: error: the file is empty, or holds nothing but comments"),
    ("---\n", "2:1: error: the document is empty"),
    (
      "a: 1\n--- # c\nb: 2",
      "2:1: error: a second document begins here, and a file holds one; move it into a file of its own [---]"
    ),
    ("a: 1\n...\nb: 2", "3:1: error: `...` above ended the document; remove it [b: 2]"),
    (
      "%YAML 1.3\n---\na",
      "1:1: error: a line that begins with `%` is a directive to YAML, and none is needed; remove it [%YAML 1.3]"
    ),
    (
      "%YAML 1.2\n",
      "1:1: error: a line that begins with `%` is a directive to YAML, and none is needed; remove it [%YAML 1.2]"
    ),
    ("[${", "1:2: error: an expression needs quotes inside [ ]; quote the whole value: `\"${{ … }}\"` [${]"),
    (
      "%FOO\n---\na",
      "1:1: error: a line that begins with `%` is a directive to YAML, and none is needed; remove it [%FOO]"
    ),
  ])
  func `says in people's words what is wrong`(_ text: String, _ fault: String) {
    #expect(faults(in: text) == [fault])
  }
}
