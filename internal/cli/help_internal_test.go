package cli

import "testing"

// In a terminal a guide has no links that lead nowhere.
func TestWithoutLinks(t *testing.T) {
	for text, want := range map[string]string{
		"see [preview](preview.md).":                           "see preview (`haft help preview`).",
		"the [modes](permissions.md#modes)":                    "the modes (`haft help permissions`)",
		"the [audit log](#the-audit-log)":                      "the audit log",
		"[`haft help mcp`](mcp.md)":                            "`haft help mcp`",
		"[the site](https://example.com/x.md)":                 "[the site](https://example.com/x.md)",
		"![a picture](terminal-working.svg)":                   "a picture",
		"[rules](../CONTRIBUTING.md)":                          "rules",
		"```go\nOutputOf[BashOutput](m)\n```\n[cli](cli.md)\n": "```go\nOutputOf[BashOutput](m)\n```\ncli (`haft help cli`)\n",
	} {
		if got := withoutLinks(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
