package awkscript_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/shell/awkscript"
)

// TestRealAwksDoNothing runs random programs that Check accepts, each with a call of
// system, a pipe or a redirection that must be part of a text, in every awk of this
// machine: an awk that read one of them differently would leave a file.
func TestRealAwksDoNothing(t *testing.T) {
	var awks []string
	for _, name := range []string{"gawk", "mawk", "original-awk", "busybox", "awk"} {
		if path, err := exec.LookPath(name); err == nil {
			awks = append(awks, path)
		} else {
			t.Logf("%s is not installed: it is not compared", name)
		}
	}
	if len(awks) == 0 {
		t.Skip("no awk is installed")
	}
	runs, seed := 150, uint64(1)
	if os.Getenv("HAFT_NIGHTLY") != "" {
		runs, seed = 20_000, uint64(time.Now().UnixNano())
	}
	t.Logf("%d programs, seed %d, %v", runs, seed, awks)
	r := rand.New(rand.NewPCG(seed, 0))
	for range runs {
		program := acceptedProgram(r)
		for _, awk := range awks {
			if left := runAwk(t, awk, program); left != "" {
				t.Fatalf("%q is accepted, but %s leaves %s", program, awk, left)
			}
		}
	}
}

var (
	awkParts = []string{"/", "/", "[", "]", "[:alpha:]", "[.a.]", "[=a=]", "[:", ":]", "^", `\`, `\/`, `"`, `"`, " ", "!", "a", "x", "(", ")", "{", "}", ";", "#", "\n", "1", "+", "++", "-", "~", "$1", "NR", "length", "print ", "in", "return ", ",", "||", "&&", "?", ":", "=", "/=", ">", "*"}
	awkHarms = []string{`system("touch pwned")`, `print 1 > "pwned"`, `print 1 | "touch pwned"`, `"touch pwned" | getline`, `{system("touch pwned")}`}
)

func acceptedProgram(r *rand.Rand) string {
	for {
		var b strings.Builder
		at := r.IntN(8)
		for i := range 3 + r.IntN(12) {
			if i == at {
				b.WriteString(awkHarms[r.IntN(len(awkHarms))])
			}
			b.WriteString(awkParts[r.IntN(len(awkParts))])
		}
		program := b.String()
		if strings.Contains(program, "pwned") && awkscript.Check(program) == nil {
			return program
		}
	}
}

// runAwk returns the name of a file that an awk leaves, "" if it leaves none.
func runAwk(t *testing.T, awk, program string) string {
	dir := t.TempDir()
	args := []string{"--", program} // a program may begin with a dash
	if strings.HasSuffix(awk, "busybox") {
		args = append([]string{"awk"}, args...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, awk, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader("a x\nb\n")
	_ = cmd.Run() // most are no good to awk either
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return ""
	}
	return entries[0].Name()
}
