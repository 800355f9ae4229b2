import CommandLineParser
import Testing

@Suite struct ManualPageTests {
  @Test func `a page escapes what has a meaning to man`() {
    var page = ManualPage("tool", section: 5, date: "2026-11-23", source: "Tool 1", summary: "The format of a-b.")
    page.add("FIRST", [.paragraph(".hidden and \\ and --flag"), .paragraph("Next.")])
    page.add("NONE", [])
    page.add("SECOND", [.heading("sub"), .paragraph("Text."), .terms([("-x", "'quoted'.")]), .literal("a\n.b")])
    #expect(
      page.text == #"""
        .TH "TOOL" 5 2026-11-23 "Tool 1"
        .SH "NAME"
        tool \- the format of a\-b
        .SH "FIRST"
        \&.hidden and \e and \-\-flag
        .PP
        Next.
        .SH "SECOND"
        .SS "sub"
        Text.
        .TP
        .B "\-x"
        \&'quoted'.
        .PP
        .nf
        .RS 4
        a
        \&.b
        .RE
        .fi

        """#)
  }

  @Test func `a program's page has every command, option and example`() {
    let text = program.manualPage(
      date: "2026-11-23", source: "Errand 1", description: "It runs.",
      sections: [("FILES", [.terms([("errand.yaml", "The configuration.")])])]
    ).text
    for part in [
      #".SS "errand run [OPTIONS] RECIPE""#, #".B "\-i, \-\-input KEY=VALUE""#,
      "errand run averages.yaml \\-i markbook=1207731", ".SH \"FILES\"",
    ] { #expect(text.contains(part), "\(part)") }
  }
}
