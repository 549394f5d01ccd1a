package shell

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/test/needtest"
)

var place = &Options{Cwd: "/home/u/proj", Home: "/home/u"}

func TestRunIsTheSameCommandWithoutComments(t *testing.T) {
	for _, l := range corpus(t) {
		a := Analyze(l.Cmd, place)
		if !a.ReadOnly && !a.Contained {
			if a.Run != "" {
				t.Errorf("%q is not read-only but has Run %q", l.Cmd, a.Run)
			}
			continue
		}
		b := Analyze(a.Run, place)
		want, got := *a, *b
		want.Run, got.Run = "", ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q and its Run %q are judged differently:\n%s", l.Cmd, a.Run, diff)
		}
		if again := b.Run; again != a.Run {
			t.Errorf("%q: Run is %q, and Run of that is %q", l.Cmd, a.Run, again)
		}
		parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
		file, err := parser.Parse(strings.NewReader(a.Run), "")
		if err != nil {
			t.Errorf("%q: Run %q does not parse: %v", l.Cmd, a.Run, err)
			continue
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			if _, ok := n.(*syntax.Comment); ok {
				t.Errorf("%q: Run %q holds a comment", l.Cmd, a.Run)
			}
			return true
		})
	}
}

// disguises turn a command into one that runs at least the same.
var disguises = map[string]func(string) string{
	"timeout":           func(s string) string { return "timeout 5 " + s },
	"nice":              func(s string) string { return "nice -n 5 " + s },
	"nohup":             func(s string) string { return "nohup " + s },
	"stdbuf":            func(s string) string { return "stdbuf -oL " + s },
	"command":           func(s string) string { return "command " + s },
	"env":               func(s string) string { return "env " + s },
	"env with a value":  func(s string) string { return "env -u X A=1 " + s },
	"sudo":              func(s string) string { return "sudo -n " + s },
	"sudo as":           func(s string) string { return "sudo -u root -- " + s },
	"setsid":            func(s string) string { return "setsid -w " + s },
	"two wrappers":      func(s string) string { return "timeout 5 env nice " + s },
	"an assignment":     func(s string) string { return "FOO=bar " + s },
	"a harmless one":    func(s string) string { return "LC_ALL=C " + s },
	"a separator":       func(s string) string { return "ls; " + s },
	"another after it":  func(s string) string { return s + "\nls" },
	"and":               func(s string) string { return "true && " + s },
	"a pipe":            func(s string) string { return "ls | " + s },
	"a subshell":        func(s string) string { return "( " + s + "\n)" },
	"a group":           func(s string) string { return "{ " + s + "\n}" },
	"a condition":       func(s string) string { return "if true; then " + s + "\nfi" },
	"a loop":            func(s string) string { return "for i in 1; do " + s + "\ndone" },
	"negation":          func(s string) string { return "! " + s },
	"time":              func(s string) string { return "time " + s },
	"a substitution":    func(s string) string { return "echo \"$( " + s + "\n)\"" },
	"a function":        func(s string) string { return "f() { " + s + "\n}" },
	"the background":    func(s string) string { return s + " &" },
	"a shell":           func(s string) string { return "bash -c " + quote(s) },
	"eval":              func(s string) string { return "eval " + quote(s) },
	"quotes":            quoteWords,
	"a loop's variable": func(s string) string { return "for i in 1 2; do for j in a; do " + s + "\ndone; done" },
	"a reading loop":    func(s string) string { return "while read -r x; do " + s + "\ndone < a.txt" },
	"a case":            func(s string) string { return "case a in *) " + s + "\n;; esac" },
	"else":              func(s string) string { return "if false; then ls; else " + s + "\nfi" },
	"or":                func(s string) string { return "false || " + s },
	"builtin command":   func(s string) string { return "builtin command " + s },
	"a shell's input":   func(s string) string { return "bash <<< " + quote(s) },
	"a here-document":   func(s string) string { return "bash <<'HERE'\n" + s + "\nHERE" },
	"a piped script":    func(s string) string { return "echo " + quote(s) + " | sh" },
	"parameters":        func(s string) string { return "bash -c '\"$@\"' _ " + s },
	"set":               func(s string) string { return "set -- " + s + "; \"$@\"" },
	"an alias":          func(s string) string { return "alias z=" + quote(s) + "; z" },
	"env -S":            func(s string) string { return "env -vS " + quote(s) },
	"strace":            func(s string) string { return "strace -f " + s },
	"xargs":             func(s string) string { return "xargs -n 1 " + s },
	"a process":         func(s string) string { return "cat <( " + s + "\n)" },
	"set -e":            func(s string) string { return "set -e; " + s },
	"a variable":        func(s string) string { return "x=1; " + s },
	"backslashes":       func(s string) string { return `\` + s },
}

// quoteWords puts every word of a plain command into quotes.
func quoteWords(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = quote(w)
		if words[i] == w {
			words[i] = `"` + w + `"`
		}
	}
	return strings.Join(words, " ")
}

// isPlain reports whether a command is one simple command of plain words, so
// that wrapping it as text wraps all of it.
func isPlain(s string) bool {
	if len(s) > 2000 || strings.ContainsAny(s, "#\n\"'\\;&|<>(){}$`*?[]!~=^") || strings.TrimSpace(s) == "" {
		return false
	}
	first := strings.Fields(s)[0]
	return !slices.Contains([]string{"if", "for", "case", "while", "time", "coproc", "function", "select", "do", "then", "fi", "repeat", "foreach", "export", "declare", "typeset", "local", "readonly", "let"}, first) && guard(s) == ""
}

func TestADisguiseNeverMakesACommandReadOnlyNorHidesIt(t *testing.T) {
	for i, l := range corpus(t) {
		if !isPlain(l.Cmd) || i%4 != 0 && !nightly() {
			continue
		}
		plain := Analyze(l.Cmd, place)
		for name, disguise := range disguises {
			checkDisguise(t, name, l.Cmd, disguise(l.Cmd), plain)
		}
	}
}

func checkDisguise(t *testing.T, name, command, disguised string, plain *Analysis) {
	t.Helper()
	a := Analyze(disguised, place)
	if a.ReadOnly && !plain.ReadOnly {
		t.Errorf("%s: %q is taken for read-only, %q is not", name, disguised, command)
	}
	if plain.Critical != "" && a.Critical == "" {
		t.Errorf("%s: %q is not critical, %q is", name, disguised, command)
	}
	for _, c := range plain.Deny {
		if !slices.ContainsFunc(a.Deny, func(d Command) bool { return d.Text == c.Text }) {
			t.Errorf("%s: deny rules do not see %q in %q", name, c.Text, disguised)
			return
		}
	}
}

func TestDenySeesThroughEverySpelling(t *testing.T) {
	for _, command := range []string{
		`rm -rf build`, `\rm -rf build`, `'rm' -rf build`, `r"m" -rf build`, `$'rm' -rf build`, `$'\x72m' -rf build`, `/bin/rm -rf build`, `{rm,-rf,build}`, `r${nothing}m -rf build`,
		`FOO=bar rm -rf build`, `env rm -rf build`, `env -i A=1 rm -rf build`, `env -S 'rm -rf build'`, `sudo -u x rm -rf build`, `nohup rm -rf build`, `watch -n1 rm -rf build`, `watch 'rm -rf build'`,
		`flock /tmp/l rm -rf build`, `flock /tmp/l -c 'rm -rf build'`, `xargs rm -rf build`, `xargs -I{} rm -rf build`, `find . -exec rm -rf build \;`, `find . -execdir rm -rf build +`, `fd -x rm -rf build`,
		`bash -c 'rm -rf build'`, `sh -xc "ls; rm -rf build"`, `eval rm -rf build`, `eval 'rm -rf build'`, `builtin eval 'rm -rf build'`, `exec rm -rf build`, `busybox rm -rf build`, `su -c 'rm -rf build'`,
		`echo $(rm -rf build)`, "echo `rm -rf build`", `cat <(rm -rf build)`, `echo "${x:-$(rm -rf build)}"`, `f() { rm -rf build; }`, `coproc rm -rf build`, `! rm -rf build`, `! ! rm -rf build`,
		"ls # x\\\nrm -rf build", "ls \\\r\nrm -rf build", `a[0]=1 rm -rf build`, `x=rm; $x -rf build`, `x='rm -rf build'; $x`, `x='rm -rf build'; eval "$x"`, `for c in rm; do $c -rf build; done`,
		`ls && rm -rf build`, `ls | rm -rf build`, `if rm -rf build; then ls; fi`, `case x in x) rm -rf build;; esac`, `while rm -rf build; do ls; done`, `[[ -n $(rm -rf build) ]]`, `cat <<EOF
$(rm -rf build)
EOF`, `trap 'rm -rf build' EXIT`, `false && x=ls; $x rm -rf build`, `$nothing rm -rf build`, `"timeout 5 rm -rf build"; timeout 5 rm -rf build`, `timeout 5 timeout 5 timeout 5 rm -rf build`, `time -- rm -rf build`, `docker exec web rm -rf build`, `npx rm -rf build`, `echo $((a[$(rm -rf build)]))`,
		`rm -rf build &&`, `rm -rf build; "unclosed`, `$(printf 'rm') -rf build`, `$(echo rm) -rf build`, `sudo --weird-flag rm -rf build`, `command -p rm -rf build`, `bash -c "bash -c 'rm -rf build'"`,
		`ls *(rm -rf build)`, "ls\x00; rm -rf build", strings.Repeat("ls; ", 3000) + "rm -rf build", strings.Repeat("(", 300) + "rm -rf build" + strings.Repeat(")", 300),
	} {
		a := Analyze(command, place)
		if !slices.ContainsFunc(a.Deny, func(c Command) bool { return c.Text == "rm -rf build" }) {
			t.Errorf("%.100q: deny rules see %.300v", command, texts(a.Deny))
		}
		if a.ReadOnly {
			t.Errorf("%.100q is taken for read-only", command)
		}
	}
}

func texts(list []Command) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Text)
	}
	return out
}

func FuzzAnalyze(f *testing.F) {
	for _, l := range corpus(f) {
		if len(l.Cmd) < 300 {
			f.Add(l.Cmd)
		}
	}
	f.Fuzz(func(t *testing.T, command string) {
		start := time.Now()
		a := Analyze(command, place)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
		if a.ReadOnly && !a.Exact {
			t.Error("read-only but not exact")
		}
		if a.ReadOnly && (a.Run == "" || len(a.Allow) > 0 || len(a.Writes) > 0) {
			t.Errorf("read-only, but Run %q, Allow %v, Writes %v", a.Run, a.Allow, a.Writes)
		}
		if !a.ReadOnly && a.Reason == "" {
			t.Error("no reason")
		}
		if strings.TrimSpace(command) != "" && len(a.Deny) == 0 && !onlyComments(command) {
			t.Error("deny rules see nothing")
		}
		if a.ReadOnly {
			if b := Analyze(a.Run, place); !b.ReadOnly || b.Run != a.Run {
				t.Errorf("Run %q is judged differently: %v %s, its Run is %q", a.Run, b.ReadOnly, b.Reason, b.Run)
			}
		}
	})
}

func onlyComments(s string) bool {
	for _, line := range strings.Split(s, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

func TestWorstCasesAreBounded(t *testing.T) {
	sizes := []int{maxBytes}
	if needtest.Thorough() {
		sizes = append(sizes, maxParsed-100)
	}
	for _, size := range sizes {
		for name, command := range worstCases(size) {
			start := time.Now()
			a := Analyze(command, place)
			if took := time.Since(start); took > time.Minute { // a hang, on a busy machine
				t.Errorf("%s of %d bytes took %v", name, size, took)
			}
			if len(a.Deny) == 0 {
				t.Errorf("%s of %d bytes: deny rules see nothing", name, size)
			}
		}
	}
}

func worstCases(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	loops := ""
	for i := range 20 {
		loops += fmt.Sprintf("for %c in 1 2 3 4 5 6 7 8 9; do ", 'a'+i)
	}
	return map[string]string{
		"many commands":       fill("ls; "),
		"many words":          fill("ls -la x "),
		"nested loops":        loops + "echo x; " + strings.Repeat("done; ", 20),
		"loops of braces":     strings.Repeat("for i in {1..99}; do ", 4) + "[[ a ]]" + strings.Repeat("; done", 4),
		"loops that move":     strings.Repeat("for i in *; do cd /tmp; ", 90) + "ls" + strings.Repeat("; done", 90),
		"loops that read":     strings.Repeat("while read -r i; do cd /tmp; ", 90) + "ls" + strings.Repeat("; done", 90),
		"statements in loops": loops[:len(loops)/5] + fill("[[ a ]]; ")[:9000] + strings.Repeat("done; ", 4),
		"eval of a variable":  "for i in {1..99}; do for j in {1..99}; do " + strings.Repeat(`eval "a$i$j"; `, 600) + "done; done",
		"many quotes":         fill(`'a'"b"`),
		"braces":              "echo " + fill("{a,b}"),
		"open parentheses":    fill("("),
		"open substitutions":  fill("$("),
		"wrappers":            fill("timeout 5 ") + "ls",
		"a long pipe":         fill("cat | ") + "cat",
		"unclosed quotes":     fill(`" '`),
		"sed script":          "sed '" + fill("s/[[:a:]]/b/;") + "' a",
		"nested shells":       strings.Repeat("bash -c ", 1000) + "ls",
		"many separators":     fill(";&|"),
		"many variables":      fill("a=b; "),
		"find words":          "find . " + fill("-exec a "),
		"strace upon strace":  fill("strace ") + "ls",
		"many straces":        fill("strace strace a b c d e f g h i j k l m n o p q r s t u; "),
		"exec upon exec":      fill("exec ") + "ls",
		"eval upon eval":      fill("eval ") + "ls",
		"both in turn":        fill("eval exec ") + "ls",
		"nested defaults":     strings.Repeat("echo ${x:-", 190) + "ls",
		"nested output":       strings.Repeat("$(echo ", 190) + "ls" + strings.Repeat(")", 190),
	}
}

func BenchmarkAnalyze(b *testing.B) {
	for _, command := range []string{"ls -la", "git log --oneline -5 -- README.md", "find . -name '*.go' -print0 | xargs -0 wc -l", "cd src && npm test && git status | head -20"} {
		b.Run(command, func(b *testing.B) {
			for b.Loop() {
				Analyze(command, place)
			}
		})
	}
}

func BenchmarkWorstCases(b *testing.B) {
	for name, command := range worstCases(maxBytes) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Analyze(command, place)
			}
		})
	}
}
