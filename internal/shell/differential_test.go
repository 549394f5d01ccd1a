package shell

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
)

// TestBashAttemptsNothingThatWasNotJudged runs random scripts in real bash and
// checks that every command it attempts was seen by Analyze. The commands have
// names that exist nowhere and PATH is empty, so nothing can run: bash calls
// command_not_found_handle, which writes the name down.
func TestBashAttemptsNothingThatWasNotJudged(t *testing.T) {
	bash := needtest.Program(t, "bash")
	n, seed := 200, uint64(1)
	if nightly() {
		n, seed = 50_000, uint64(time.Now().UnixNano())
	}
	t.Logf("%d scripts, seed %d", n, seed)
	d := newDifferential(t, bash, seed)
	ran, exact, guessed, missed := 0, 0, 0, 0
	for i := range n {
		script := d.tokens()
		if i%2 == 0 {
			script = d.list(3)
		}
		a := Analyze(script, place)
		attempted := d.run(t, script)
		if len(attempted) > 0 {
			ran++
		}
		if a.Exact {
			exact++
		}
		_, err := parse(script)
		unreadable := err != nil || guard(script) != ""
		for _, name := range attempted {
			if unreadable {
				if guessed++; !judged(a, name) {
					missed++
				}
				continue
			}
			if !judged(a, name) {
				t.Errorf("bash attempts %s, which deny rules do not see:\n%q\nthey see %q (exact: %v, %s)", name, script, texts(a.Deny), a.Exact, a.Inexact)
			}
			if a.ReadOnly {
				t.Errorf("%q is taken for read-only, but bash attempts %s", script, name)
			}
		}
	}
	t.Logf("%d ran something, %d were exact, of %d names in settings that cannot be read %d were missed", ran, exact, guessed, missed)
	if missed > guessed/20 {
		t.Errorf("deny rules miss %d of %d commands in settings that cannot be read", missed, guessed)
	}
	if ran < n/10 || exact < n/10 {
		t.Errorf("of %d scripts %d ran something and %d were exact: the test shows little", n, ran, exact)
	}
}

// judged reports whether some command in Deny has this name, or one whose name
// is not known could.
func judged(a *Analysis, name string) bool {
	return slices.ContainsFunc(a.Deny, func(c Command) bool { return c.Words[0] == name })
}

type differential struct {
	*rand.Rand
	bash, dir, log string
	env            []string
	runs           int
}

func newDifferential(t *testing.T, bash string, seed uint64) *differential {
	t.Helper()
	top := t.TempDir()
	d := &differential{Rand: rand.New(rand.NewPCG(seed, 0)), bash: bash, dir: filepath.Join(top, "work"), log: filepath.Join(top, "log")}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	handler := filepath.Join(top, "handler")
	if err := os.WriteFile(handler, []byte(`command_not_found_handle() { printf '%s\n' "$1" >> "$HAFT_LOG"; }; ulimit -u 200 2>/dev/null`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(top), top, d.dir} { // for fewProcesses
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(handler, 0o644); err != nil {
		t.Fatal(err)
	}
	d.env = []string{"PATH=/nonexistent", "BASH_ENV=" + handler, "HOME=" + d.dir}
	return d
}

// run returns the names that bash attempts to run.
func (d *differential) run(t *testing.T, script string) []string {
	t.Helper()
	if strings.ContainsRune(script, 0) {
		return nil
	}
	d.runs++ // what stays in the background writes to a log that nobody reads
	log := fmt.Sprint(d.log, d.runs)
	defer os.Remove(log)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.bash, "--norc", "--noprofile", "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = d.dir, append(d.env, "HAFT_LOG="+log), time.Second
	fewProcesses(cmd)
	cmd.Run() // most scripts fail, which is fine
	data, _ := os.ReadFile(log)
	var out []string
	for _, name := range strings.Split(string(data), "\n") {
		if len(name) == 3 && strings.HasPrefix(name, "zz") { // others are made up by expansions
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (d *differential) pick(list ...string) string { return list[d.IntN(len(list))] }

// word returns a word; as often as not one that could be a command.
func (d *differential) word() string {
	name := "zz" + string(rune('a'+d.IntN(6)))
	switch d.IntN(14) {
	case 0:
		return `"` + name + `"`
	case 1:
		return `'` + name + `'`
	case 2:
		return `\` + name
	case 3:
		return `z"z"` + name[2:]
	case 4:
		return `$'` + name + `'`
	case 5:
		return `$'\x7a\172` + name[2:] + `'`
	case 6:
		return "{" + name + ",b}"
	case 7:
		return "z\\\nz" + name[2:]
	case 8:
		return name + "${nothing}"
	}
	return name
}

// tokens returns a script of random tokens, mostly nonsense.
func (d *differential) tokens() string {
	var b strings.Builder
	for range 2 + d.IntN(12) {
		b.WriteString(d.pick(d.word(), d.word(), " ", " ", " ", ";", "\n", "|", "&&", "||", "&", "(", ")", "{ ", "; }", "$(", "`", "'", `"`, `\`, "#", " #", ">f", "<f", "2>&1", "<<E\n", "\nE\n", "if ", "; then ", "; fi",
			"for i in a b; do ", "; done", "case a in a) ", ";; esac", "time ", "! ", "coproc ", "$x", "x=1 ", "\t", "\\\n", "*", "[[ a ]]", "[[ ", " ]]", "function f ", "eval ", "command ", "\r", "$'", "<(", "${a:-", "}", "|&", "<<<a ", ";;", "$((", "))", "a[0]=1 ", "export "))
	}
	return b.String()
}

// list returns commands that bash parses, nested up to depth.
func (d *differential) list(depth int) string {
	parts := []string{d.command(depth)}
	for range d.IntN(3) {
		parts = append(parts, d.pick("; ", " && ", " || ", " | ", "\n", " |& ", " & ", " # note\n"), d.command(depth))
	}
	return strings.Join(parts, "")
}

func (d *differential) command(depth int) string {
	if depth == 0 || d.IntN(3) == 0 {
		return d.simple(depth)
	}
	in := func() string { return d.list(depth - 1) }
	switch d.IntN(20) {
	case 14:
		i := fmt.Sprint("i", depth) // one guess per variable is not enough where an inner loop may not run
		return "for " + i + " in " + d.word() + " " + d.word() + "; do for " + i + " in " + d.word() + "; do " + in() + "\ndone; $" + i + " a\ndone; $" + i + " b"
	case 15:
		return "x=" + d.word() + "; x=" + d.word() + "; $x; (x=" + d.word() + "; $x)"
	case 16:
		return "set -- " + d.word() + " " + d.word() + "; \"$@\"; $1 a"
	case 17:
		return "for j in " + d.word() + " " + d.word() + "; do eval '$j a'; command cd /; done"
	case 18:
		return "printf 'a\\n' | while read -r x; do " + in() + "\ndone"
	case 19:
		return "[[ a == a ]] && { " + in() + "\n} || " + d.simple(0)
	case 0:
		return "( " + in() + "\n)"
	case 1:
		return "{ " + in() + "\n}"
	case 2:
		return "if " + in() + "\nthen " + in() + "\nelse " + in() + "\nfi"
	case 3:
		return "for i in " + d.word() + " b; do " + in() + "\ndone"
	case 4:
		return "case " + d.word() + " in z*) " + in() + "\n;; *) " + in() + "\n;; esac"
	case 5:
		return d.simple(0) + " \"$( " + in() + "\n)\""
	case 6:
		return d.simple(0) + " <( " + in() + "\n)"
	case 7:
		return "! " + d.simple(depth)
	case 8:
		return "time " + d.simple(depth)
	case 9:
		return "f() { " + in() + "\n}; f"
	case 10:
		return "x=" + d.word() + "; $x " + d.word()
	case 11:
		return "eval " + quote(in())
	case 12:
		return "cat <<E\n$( " + in() + "\n)\nE\n"
	}
	return d.simple(depth)
}

func (d *differential) simple(depth int) string {
	prefix := d.pick("", "", "", "", "A=1 ", "A=1 B=2 ", "command ", "builtin ", ">f ", "2>&1 ", "\\\n")
	args := ""
	for range d.IntN(3) {
		args += " " + d.pick(d.word(), "-x", "a b", `"a b"`, "$HOME", "*", "'#'", "a#b", ">f", fmt.Sprint(d.IntN(9)))
	}
	return prefix + d.word() + args
}
