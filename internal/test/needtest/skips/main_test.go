package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const events = `{"Action":"output","Package":"p/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"p/a","Test":"TestOne","Output":"    one_test.go:7: python3 is not installed\n"}
{"Action":"output","Package":"p/a","Test":"TestOne","Output":"--- SKIP: TestOne (0.00s)\n"}
{"Action":"skip","Package":"p/a","Test":"TestOne"}
{"Action":"pass","Package":"p/a","Test":"TestTwo"}
{"Action":"output","Package":"p/a","Output":"ok  \tp/a\t0.1s\n"}
{"Action":"pass","Package":"p/a"}
`

const listed = "p/a TestOne: python3 is not installed\n"

func TestOnlyListedSkipsPass(t *testing.T) {
	const failing = `{"Action":"output","Package":"p/b","Test":"TestBad","Output":"    bad_test.go:1: why\n"}
{"Action":"fail","Package":"p/b","Test":"TestBad"}
`
	for name, c := range map[string]struct {
		list, events string
		says, err    string
	}{
		"a listed one passes":                       {list: listed, events: events, says: "ok  \tp/a\t0.1s\n1 passed, 0 failed, 1 skipped\n"},
		"lines about other packages are left alone": {list: listed + "p/b TestBad: x\n", events: events, says: "1 passed, 0 failed, 1 skipped\n"},
		"one that is not listed fails":              {events: events, says: "Skipped and not in", err: "1 tests are skipped and not in"},
		"another reason is another skip":            {list: "p/a TestOne: no bash\n", events: events, says: "Not skipped any more", err: "1 tests are skipped"},
		"a stale line is pointed out and passes":    {list: listed + "p/a TestTwo: x\n", events: events, says: "Not skipped any more"},
		"a failure fails and is shown":              {list: listed, events: events + failing, says: "bad_test.go:1: why", err: "1 tests or packages failed"},
		"nothing is no success":                     {err: "no package was tested"},
		"text in place of events is an error":       {events: "oops", err: "read the output of go test -json"},
	} {
		t.Run(name, func(t *testing.T) {
			list := filepath.Join(t.TempDir(), "list")
			if err := os.WriteFile(list, []byte(c.list), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err := run(list, false, strings.NewReader(c.events), &out)
			if !strings.Contains(out.String(), c.says) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q; output:\n%s", err, c.err, &out)
			}
		})
	}
}

func TestTheListIsWritten(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("p/b TestBad: x\np/a TestGone: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(list, true, strings.NewReader(events), new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(list); err != nil || string(got) != listed+"p/b TestBad: x\n" {
		t.Errorf("%v: %s", err, got)
	}
}
