package jqfilter_test

import (
	"testing"

	"github.com/haftdev/haft/internal/shell/jqfilter"
)

func TestFilters(t *testing.T) {
	for _, filter := range []string{
		".", "", ".a.b", ".env", ".[] | .env", ".dependencies | keys[]", ".[] | select(.id == 2)", "map(.id) | add", `to_entries[] | "\(.key)=\(.value)"`, `.environment // "none"`,
		`"env"`, `."env"`, `.["env"]`, `"\("a" + "b")"`, `.a as $env | $env`, `def f(x): x * 2; f(.)`, `.. | numbers`, `if . then 1 else 2 end`, `@base64d`, `.x? // empty`, `"it's"`, `"ö"`,
		`$x.env`, `reduce .[] as $i (0; . + $i)`, `.a[1:3]`, `1.5e3`, `{a: .b, "c": 1}`,
	} {
		if err := jqfilter.Check(filter); err != nil {
			t.Errorf("%q: %v, want it accepted", filter, err)
		}
	}
}

func TestOthersAreRefused(t *testing.T) {
	for _, filter := range []string{
		"env", "$ENV", "$ ENV.PATH", "$\nENV", "$ENV.PATH", "env.PATH", `"\(env)"`, `"\("\(env)")"`, `"\("a") \(env)"`, "..env", ".. env", "1.env", ".|env", "{a: env}", "{$ENV}", "input_filename",
		`import "x" as x; .`, `include "x"; .`, `"unclosed`, `"\(.a"`, ")", ".a)", "# c\nenv", `"\\\(env)"`, `@text "\(env)"`, ". as [$a] | env", "modulemeta",
	} {
		if err := jqfilter.Check(filter); err == nil {
			t.Errorf("%q: accepted, want it refused", filter)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`"\(.a)" | env`)
	f.Fuzz(func(t *testing.T, filter string) {
		if jqfilter.Check(filter) == nil && jqfilter.Check(filter+" | env") == nil {
			t.Errorf("%q hides env after it", filter)
		}
	})
}
