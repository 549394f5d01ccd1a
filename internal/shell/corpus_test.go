package shell

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// A labelled command of testdata/bash.jsonl or testdata/holes.jsonl.
type labelled struct {
	Cmd      string
	ReadOnly bool
	Deny     string // a text that deny rules must see, "": any
	Critical bool   // the circuit breaker must see it
	Why      string
	Class    string
}

func corpus(t testing.TB) []labelled { return labels(t, "testdata/bash.jsonl") }

func labels(t testing.TB, file string) []labelled {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []labelled
	for dec := json.NewDecoder(f); dec.More(); {
		var l labelled
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// nightly reports whether tests should take their time.
func nightly() bool { return os.Getenv("HAFT_NIGHTLY") != "" }

// settings are the worlds in which the corpus must hold.
var settings = map[string]*Options{
	"knowing nothing":   nil,
	"knowing the place": {Cwd: "/home/u/proj", Home: "/home/u", Roots: []string{"/home/u/proj"}},
}

func TestCorpus(t *testing.T) {
	for name, opts := range settings {
		t.Run(name, func(t *testing.T) {
			type count struct{ right, all int }
			classes := map[string]*count{}
			readOnly := count{}
			for _, l := range corpus(t) {
				c := classes[l.Class]
				if c == nil {
					c = &count{}
					classes[l.Class] = c
				}
				a := Analyze(l.Cmd, opts)
				c.all++
				if a.ReadOnly == l.ReadOnly {
					c.right++
				}
				if l.ReadOnly {
					readOnly.all++
					if a.ReadOnly {
						readOnly.right++
					} else {
						t.Logf("not recognised: %s: %q: %s", l.Class, l.Cmd, a.Reason)
					}
				} else if a.ReadOnly {
					t.Errorf("taken for read-only: %s: %q, but %s", l.Class, l.Cmd, l.Why)
				}
			}
			if 100*readOnly.right < 97*readOnly.all {
				t.Errorf("%d of %d read-only commands are recognised, want 97 %%", readOnly.right, readOnly.all)
			}
			if t.Failed() {
				var b strings.Builder
				for _, class := range slices.Sorted(maps.Keys(classes)) {
					fmt.Fprintf(&b, "%-20s %d of %d\n", class, classes[class].right, classes[class].all)
				}
				t.Log("right by class:\n" + b.String())
			}
		})
	}
}
