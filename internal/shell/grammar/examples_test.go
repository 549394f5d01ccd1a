package grammar

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestEveryGrammarHasBothKindsOfExample(t *testing.T) {
	files := map[string][2]int{}
	for _, e := range Builtin().Examples {
		n := files[e.File]
		if e.Match {
			n[0]++
		} else {
			n[1]++
		}
		files[e.File] = n
	}
	entries, err := filesIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range entries {
		// Programs that only deny rules look through can match nothing, and
		// some take any words.
		if files[name][0]+files[name][1] == 0 {
			t.Errorf("%s has no example", name)
		}
	}
}

func filesIn() ([]string, error) {
	entries, err := files.ReadDir("data")
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}

func TestLoadReportsMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a word nobody knows", "command x\nfoo bar", `x.txt:2: unknown word "foo"`},
		{"a line before the command", "flags -a", `"flags" before command`},
		{"no command", "# nothing", "no command"},
		{"an unknown kind", "command x\noperands what", `unknown kind "what"`},
		{"an unknown set", "command x\nuse y", `no set "y"`},
		{"a bad expression", "command x\noperands /(/", "missing closing )"},
		{"a bad wrapper", "command x\nwraps maybe 1", "want: wraps"},
		{"an unknown style", "command x\nstyle odd", `unknown style "odd"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(fstest.MapFS{"data/x.txt": {Data: []byte(tt.text)}}, "data")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("load: %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestTwoGrammarsForOneNameAreRefused(t *testing.T) {
	_, err := load(fstest.MapFS{"data/x.txt": {Data: []byte("command ls\noperands none")}, "data/y.txt": {Data: []byte("command ls\noperands none")}}, "data")
	if err == nil {
		t.Error("load accepted two grammars for ls")
	}
}
