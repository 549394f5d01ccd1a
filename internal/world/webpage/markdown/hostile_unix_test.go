//go:build unix

package markdown_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/webpage/markdown"
)

// TestHostilePagesTakeLinearTime holds pages that other converters take minutes
// or all memory for against a plain page of the same size.
func TestHostilePagesTakeLinearTime(t *testing.T) {
	const size = 1 << 18
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	r := strings.Repeat
	plain := fill("Hello <b>text</b> with <a href='/x'>links</a>.\n<p>")
	const allowance = 60 // times a plain page; it would be thousands
	base := max(took(t, plain), 10*time.Millisecond)
	for name, page := range map[string]string{
		"stars":                   fill("*"),
		"backticks":               "<code>" + fill("`") + "</code>",
		"lists in lists":          r("<ul><li>a", 250) + fill("x "),
		"many lists in lists":     fill(r("<ul><li>a", 100) + r("</ul>", 100)),
		"quotes in quotes":        fill(r("<blockquote>a", 400) + r("</blockquote>", 400)),
		"wide cells":              "<table>" + fill("<tr><td colspan=100000 rowspan=100000>x</td><td>y</td></tr>") + "</table>",
		"a wide table":            "<table><tr>" + fill("<td>x</td>") + "</tr></table>",
		"tables in tables":        fill(r("<table><tr><td>", 100) + "x" + r("</table>", 100)),
		"spaces":                  fill(" "),
		"line breaks":             fill("<br>"),
		"empty links":             fill("<a href=x></a>"),
		"empty items":             "<ul>" + fill("<li></li>"),
		"code lines in deep list": r("<ul><li>", 100) + "<pre>" + fill("a\n"),
		"links without end":       fill("<a href='http://x/" + r("a", 100) + "'>"),
		"emphasis in emphasis":    fill(r("<b><i>", 100) + "x" + r("</i></b>", 100)),
		"attributes":              "<p " + fill("a=b ") + ">x",
		"headers in headers":      fill(r("<header>", 200) + r("</header>", 200)),
	} {
		d := took(t, page)
		t.Logf("%s: %s", name, d)
		if d > allowance*base {
			t.Errorf("%s: %s, a plain page of this size %s", name, d, base)
		}
	}
}

// took is how long this process worked on a page, whatever else the machine does.
func took(t *testing.T, page string) time.Duration {
	t.Helper()
	began := worked(t)
	if _, err := markdown.Read(page, nil); err != nil {
		t.Error(err)
	}
	return worked(t) - began
}

func worked(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
