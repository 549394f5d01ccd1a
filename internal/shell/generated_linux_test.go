package shell_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/test/needtest"
)

// TestGeneratedCommandsOnlyRead generates commands for each embedded grammar, with harm
// hidden where the grammar says that it is text, and runs those that are judged to only
// read for real: none attempts more. HAFT_NIGHTLY makes it minutes per grammar, or
// HAFT_FUZZ=5m as long as that says.
func TestGeneratedCommandsOnlyRead(t *testing.T) {
	w := newWatcher(t)
	size, limit, seed := 15, time.Duration(0), uint64(17)
	if os.Getenv("HAFT_NIGHTLY") != "" {
		limit = 3 * time.Minute
	}
	if text := os.Getenv("HAFT_FUZZ"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if limit > 0 {
		size, seed = 100, uint64(time.Now().UnixNano())
	}
	for _, g := range generators {
		t.Run(g.name, func(t *testing.T) {
			w.works(t, g.probe)
			r := &chooser{rand.New(rand.NewPCG(seed, 0))}
			begin, made, ran, succeeded := time.Now(), 0, 0, 0
			for ran == 0 || time.Since(begin) < limit {
				var commands []string
				for tries := 0; len(commands) < size && tries < 100*size; tries++ {
					made++
					if a := shell.Analyze(g.make(r), w.where); a.ReadOnly {
						commands = append(commands, a.Run)
					}
				}
				found, good := w.effects(t, commands)
				ran, succeeded = ran+len(commands), succeeded+good
				for _, f := range found {
					t.Errorf("%s\n\tattempts %s", f.command, f.what)
				}
				if len(found) > 20 {
					break
				}
			}
			t.Logf("%d of %d ran, %d of them without an error, seed %d", ran, made, succeeded, seed)
			if ran < size || succeeded == 0 {
				t.Errorf("of %d commands %d ran and %d succeeded: the test shows little", made, ran, succeeded)
			}
		})
	}
}

// A generator makes commands of one program. The probe is a command that succeeds
// where the program can work: rpm, for example, needs a database besides its file.
type generator struct {
	name, probe string
	make        func(*chooser) string
}

type chooser struct{ *rand.Rand }

func (r *chooser) pick(list ...string) string { return list[r.IntN(len(list))] }

// some joins up to n words of a list.
func (r *chooser) some(n int, sep string, list ...string) string {
	var words []string
	for range r.IntN(n + 1) {
		words = append(words, r.pick(list...))
	}
	return strings.Join(words, sep)
}

// q quotes a word, in one of several ways.
func (r *chooser) q(s string) string {
	if strings.Contains(s, "'") || r.IntN(6) == 0 && !strings.ContainsAny(s, "\"$`\\!\n") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`
	}
	return "'" + s + "'"
}

var generators = []generator{
	{"jq", "jq -n 1", jqCommand}, {"find", "find a", findCommand}, {"test", "[ -f a ]", testCommand}, {"printf", "printf x", printfCommand}, {"git", "git status", gitCommand},
	{"openssl", "openssl x509 -in cert.pem -noout", opensslCommand}, {"rpm", "rpm -qa", rpmCommand}, {"awk", "awk 1 a", awkCommand}, {"sed", "sed -n p a", sedCommand}, {"any", "cat a", anyCommand},
}

// jqCommand puts an expression, or what looks like one, among flags.
func jqCommand(r *chooser) string {
	filter := jqExpr(r, 3)
	if r.IntN(3) == 0 {
		filter = jqSoup(r)
	}
	flags := r.some(3, " ", "-n", "-r", "-c", "-s", "-nr", "-e", "-S", "--tab", "--indent 2", "--arg x env", "--argjson y '[1]'", "--args", "--jsonargs", "-f evil.jq", "-rf evil.jq", "-L .", "-L.", "--slurpfile z .env", "--rawfile z .env", "--from-file", "-R", "--stream", "--seq", "-j", "-a", "--", "--exit-status")
	return strings.Join([]string{"jq", flags, r.q(filter), r.pick("", "j.json", "j.json a", "evil.jq", "-")}, " ")
}

func jqExpr(r *chooser, depth int) string {
	if depth == 0 {
		return r.pick(".", ".a", ".env", `."env"`, ".a.b[0]", "1", `"env"`, `"$ENV"`, `"\(.a)"`, "$x", "$__loc__", "..", "[]", "{}", "{env: 1}", "{$__loc__}", `{"env":1}`, ".[]?", "input_line_number", "now", "null", "keys?", "@json", `@sh "\(.a)"`, `@text "env"`,
			"env", "$ENV", "$ENV.HAFT_SECRET", "env.HAFT_SECRET", `"\(env)"`, `"\($ENV.HAFT_SECRET)"`, "input_filename", "get_search_list", "input", "[inputs]", "debug", "stderr", `("a"|halt_error)`, "$ENV|.HAFT_SECRET", "{env}", "{$ENV}", ".env.HAFT_SECRET", "$__prog_args", "builtins|length", "modulemeta?", "splits(\"a\")?", "ltrimstr(\"a\")", "getpath([\"env\"])?", "input_line_number", "halt", "$ ENV", "$\nENV", "#env\n.", ".#\\\nenv")
	}
	e := func() string { return jqExpr(r, depth-1) }
	switch r.IntN(16) {
	case 0:
		return e() + " | " + e()
	case 1:
		return e() + ", " + e()
	case 2:
		return "(" + e() + ")"
	case 3:
		return "[" + e() + "]"
	case 4:
		return `"a\(` + e() + `)b"`
	case 5:
		return "if " + e() + " then " + e() + " else " + e() + " end"
	case 6:
		return "try (" + e() + ") catch ."
	case 7:
		return e() + " as $x | " + e()
	case 8:
		return "def env: " + e() + "; " + e()
	case 9:
		return "def f(g): g; f(" + e() + ")"
	case 10:
		return "reduce (" + e() + ") as $x (0; " + e() + ")"
	case 11:
		return "{a: (" + e() + "), (\"env\"): 1}"
	case 12:
		return "first(" + e() + ")?"
	case 13:
		return "(" + e() + ")?//" + e()
	case 14:
		return e() + r.pick("+", "-", "//", "==", " and ") + e()
	}
	return `@` + r.pick("base64", "html", "uri", "csv") + ` "\(` + e() + `)\\(env)\u0041"`
}

func jqSoup(r *chooser) string {
	return r.some(12, "", ".", "a", "|", ",", "(", ")", "[", "]", "{", "}", `"`, `"`, `\(`, `\"`, `\\`, "env", "$ENV", "$", "ENV", "#", "\n", "import \"evil\" as e;", "include \"evil\";", " ", ":", ";", "@sh", "?", "//", "..", "1", "_", "$__", "input_filename")
}

var findHarms = []string{"-delete", "-exec touch PWNED ';'", "-execdir ./evil {} +", "-ok touch PWNED ';'", "-fprint PWNED", "-fprint0 PWNED", "-fls PWNED", "-fprintf PWNED %p", "-files0-from list"}

// findCommand mixes tests, values and actions, so that an action that is taken for the
// value of a test, or the other way round, is seen.
func findCommand(r *chooser) string {
	words := []string{"find", r.pick("", "", "-L", "-P", "-H", "-O3", "-D tree", "-Dexec", "--", "-LP"), r.pick("", ".", "src", ". src", "a", "./-delete", "-- .", "*", "d")}
	for range r.IntN(5) {
		words = append(words, r.pick(r.pick(findHarms...), r.pick(findHarms...),
			r.pick("-name", "-iname", "-path", "-regex", "-type", "-size", "-perm", "-user", "-newer", "-samefile", "-maxdepth", "-mindepth", "-printf", "-regextype", "-newermt", "-mtime", "-used", "-context", "-fstype", "-links", "-inum", "-anewer", "-newerBB", "-lname", "-D", "-xtype", "-gid", "-amin", "-newerma", "-wholename"),
			r.pick("-true", "-false", "-print", "-print0", "-ls", "-prune", "-quit", "-empty", "-depth", "-d", "-daystart", "-follow", "-mount", "-xdev", "-noleaf", "-nowarn", "-help", "-version", "--help", "-nouser", "-executable", "-not", "!", "'('", "')'", "-o", "-a", ",", "-and", "-O2"),
			r.pick("'*.go'", "f", "1", "-1", "+1", "a", "u+x", "root", "'%p\\n'", "'%{x}'", "posix-egrep", "2020-01-01", "yesterday", "'%A@ %Tc %h %l'", "'\\c%p'", "exec", "'*'", "nosuch", "''"),
			"-name '*' -printf '%f "+r.pick("%%", "\\\\", "%", "%(x)", "%Z", "%y")+"'", "-name a", "-type f"))
	}
	return strings.Join(words, " ")
}

// evaluated are texts that arithmetic and -v would run.
var evaluated = []string{"a[$(touch PWNED)]", "a[`touch PWNED`]", "x[$(./evil)0]", "$(touch PWNED)", "1+a[$(touch PWNED)]"}

func testCommand(r *chooser) string {
	word := func() string {
		return r.pick(r.q(r.pick(evaluated...)), r.pick("a", "b", "1", "''", "x", "-f", "-eq", "!", "-a", "'('", "')'", "=", "$HOME", "\"$PWD\"", "./evil", "-v", "-n", "]", "HOME"))
	}
	op := func() string {
		return r.pick("=", "!=", "-eq", "-ne", "-lt", "-nt", "-ef", "-a", "-o", "'<'", "'>'", "==", "=~", "-v", "-f")
	}
	unary := func() string {
		return r.pick("-f", "-e", "-v", "-n", "-z", "-t", "-R", "-o", "-x", "-N", "-L", "-a", "-G", "!", "! -f")
	}
	var expr string
	for range 1 + r.IntN(3) {
		expr += r.pick(unary()+" "+word(), word()+" "+op()+" "+word(), word()) + r.pick("", "", " -a ", " -o ", " && ", " ") + " "
	}
	switch r.IntN(5) {
	case 0:
		return "[[ " + expr + " ]]"
	case 1:
		return "test " + expr
	case 2:
		return "/usr/bin/test " + expr
	}
	return "[ " + expr + " ]"
}

func printfCommand(r *chooser) string {
	format := r.some(6, "", "%s", "%d", "%b", "%q", "%n", "%c", "%x", "%5.2f", "%*d", "%-10s", "%%", "%(%F)T", "%(touch PWNED)T", "%.*s", "%1$s", "%ln", "%hn", "%", "\\n", "\\c", "\\x25n", "\\045n", "\\u0025n", "%Q", "%'d", "%#x", "% d", "a", "$(touch PWNED)", "\\\\%n", "%(\\%n)T", "%0n", "%5n", "%.3n", "%\\n")
	args := r.some(4, " ", "a", "1", "PATH", r.q(r.pick(evaluated...)), r.q(r.pick(evaluated...)), "'%n'", "-1", "-v", "\"'a\"", "0x10", "$HOME")
	return strings.Join([]string{r.pick("printf", "printf", "printf --", "printf -v x", "printf -vPATH", "builtin printf", "command printf", "/usr/bin/printf"), r.q(format), args}, " ")
}

func awkCommand(r *chooser) string {
	harm := r.pick(`system("touch PWNED")`, `print 1 > "PWNED"`, `print 1 | "touch PWNED"`, `"touch PWNED" | getline`, `getline < ".env"`, `print ENVIRON["HAFT_SECRET"]`, `@load "x"`, `close("x")`, `print > $1`, `printf "%s", 1 >> "PWNED"`, `print |& "./evil"`)
	parts := []string{"/", "/", "[", "]", "[:alpha:]", `\`, `\/`, `"`, `"`, " ", "!", "a", "(", ")", "{", "}", ";", "#", "\n", "1", "++", "~", "$1", "NR", "print ", "in", ",", "||", "?", ":", "=", "/=", ">", "BEGIN", "END", harm, harm}
	flags := r.pick("", "", "-F:", "-F ,", "-v x=1", "-v 'x=a\\nb'", "-f s.sed", "-i inplace", "-e 1", "--", "-E x", "-l x", "-p", "-o", "-d", "-D", "-nf s.sed", "--file s.sed", "-F s -f s.sed")
	return strings.Join([]string{r.pick("awk", "gawk", "mawk"), flags, r.q(r.some(10, "", parts...)), r.pick("", "a", "a b", "x=1 a", "FS=: a", "/inet/tcp/0/127.0.0.1/9")}, " ")
}

func sedCommand(r *chooser) string {
	script := r.some(9, "", "s", "/", "/", "/", "a", "w PWNED", "e", "e touch PWNED", "W PWNED", "r .env", "R .env", "p", ";", "\n", "{", "}", "\\", "\\n", "[", "]", "1", "$", ",", "!", "y", "g", "i\\", "a\\", "c", ":x", "b x", "t", "n", "N", "#", "#n\n", "s/x/y/w PWNED", "s/a/touch PWNED/e", "s/a/b/ge", "s,a,b,", "M", "I", "q", "Q", "=", "l", "z", "F", "d")
	flags := r.pick("-n", "", "-E", "-ne", "-n -e p -e", "-i", "-i.bak", "-s", "-f s.sed", "-nf s.sed", "--in-place", "-z", "-u", "-l 5", "--debug", "--sandbox", "--posix", "-nE", "-Ei", "-n -i", "-bn", "--expression")
	return strings.Join([]string{"sed", flags, r.q(script), r.pick("", "a", "a b", "a -i", "-- a", "a -n", "-s a")}, " ")
}

var gitHarms = []string{"--output=PWNED", "--output PWNED", "--ext-diff", "--textconv", "--show-signature", "--open-files-in-pager=./evil", "-O./evil", "-Olist", "--exec-path=.", "--paginate", "-p", "-c core.pager=./evil", "--format=%G?", "--pretty=%GS", "--pretty=evil", "--format='%(signature)'", "--filters", "--batch", "--contents .env", "--no-index / .env", "--help", "-h", "--edit", "-e", "--remote=ext::./evil", "--submodule=log", "--submodule=diff", "--upload-pack=./evil", "--exec=./evil", "--git-dir=d", "--work-tree=.."}

// gitCommand composes formats of %-codes and mixes flags that take values with those that do not.
func gitCommand(r *chooser) string {
	format := r.some(5, "", "%h", "%s", "%an", "%G?", "%GG", "%GS", "%GK", "%%G?", "%x25G?", "%C(red)", "%C(auto)", "%w(3,%G?)", "%>(10)%G?", "%<|(3,trunc)%s", "%(trailers:key=a,separator=%G?)", "%(trailers:separator=%x47)", "%+G?", "%-GS", "% G?", "%(describe)", "%(decorate:prefix=%G?)", "%n", "%b", "%N", "%", "%(signature)", "%(contents)", "%(if)%(signature)%(then)a%(end)", "%(contents:signature)", "%(refname)", "%(raw)", "%(*signature:grade)", "%ar", "%cd", "%C", "G?", "%(G?)")
	flag := r.pick("--format=", "--pretty=", "--pretty=format:", "--format=tformat:", "--format ")
	words := []string{"git", r.pick("", "", "", "--no-pager", "-C .", "--literal-pathspecs"),
		r.pick("log", "show", "diff", "status", "blame a", "grep TODO", "branch", "tag", "for-each-ref", "shortlog HEAD", "rev-list HEAD", "stash list", "stash show", "reflog", "diff-tree HEAD", "ls-files", "ls-tree HEAD", "cat-file -p HEAD", "describe --always", "rev-parse HEAD", "show-ref", "branch --list", "tag -l", "diff --cached", "diff-index HEAD", "config --get user.name", "name-rev HEAD", "range-diff HEAD HEAD HEAD", "check-attr -a a", "check-ignore a", "var GIT_PAGER", "hash-object --no-filters a", "annotate a", "archive HEAD", "ls-files -o", "stash show -p", "log -p", "show HEAD:a", "diff --no-index a b")}
	for range r.IntN(4) {
		words = append(words, r.pick(flag+r.q(format), flag+r.q(format), r.pick(gitHarms...),
			r.pick("-p", "--stat", "--raw", "-1", "-n 2", "--all", "--oneline", "--graph", "--decorate", "-S", "-G", "-L", "--since", "--color-words", "--word-diff", "--notes", "--date", "--abbrev", "-M", "-C", "-B", "-U3", "-O", "--sort", "--contains", "--points-at", "--encoding", "--diff-merges", "--find-object", "--relative", "--ws-error-highlight", "-l", "--merged", "--column", "--cc", "--left-right", "--walk-reflogs", "--name-only", "--porcelain", "-z", "--textconv", "--no-textconv", "--find-renames", "--inter-hunk-context", "-I", "-w", "--ignore-revs-file", "-e", "--and", "--threads"),
			r.pick("HEAD", "a", "v1", "--", "b", "HEAD:a", "x", "2", "1,2:a", "'/TODO/,+1:a'", "list", ":(attr:diff)a", "'-s'", "creatordate", "always", "stash@{0}", "HEAD^{/one}", ":/one")))
	}
	return strings.Join(words, " ")
}

func opensslCommand(r *chooser) string {
	words := []string{"openssl", r.pick("x509", "dgst", "sha256", "md5", "version", "x509 -noout", "dgst -sha256", "rsa", "enc", "s_client", "req", "x509 -in cert.pem -noout")}
	for range r.IntN(6) {
		words = append(words, r.pick("-out PWNED", "-engine ./evil", "-provider-path .", "-provider evil", "-config list", "-rand list", "-writerand PWNED", "-sign k", "-passin pass:x", "-keyout PWNED", "-signkey cert.pem", "-CAcreateserial", "-CA cert.pem", "-CAserial PWNED",
			"-in cert.pem", "-in list", "-in file:cert.pem", "-in http://127.0.0.1:9/x", "-in .env", "-noout", "-text", "-subject", "-dates", "-fingerprint", "-checkend 10", "-inform PEM", "-inform ENGINE", "-nameopt RFC2253", "-certopt no_pubkey", "-ext subjectAltName", "-a", "-r", "-hex", "-binary", "-sha256", "-md5", "a", "b", "cert.pem", "--", "-c", "-checkend", "-inform", "-nameopt", "-ext", "-purpose", "-modulus", "-noout=x", "--noout", "--in=cert.pem", "-in=cert.pem"))
	}
	return strings.Join(words, " ")
}

func rpmCommand(r *chooser) string {
	format := r.some(6, "", "%{NAME}", "%{NAME:expand}", "%(touch PWNED)", "%{lua:os.execute(\"touch PWNED\")}", "%{VERSION}", "%%", "\\n", "%-10{NAME}", "[%{FILENAMES}\n]", "%{=NAME}", "%{SIZE:humansi}", "%", "{", "}", "%|NAME?{x}:{%(./evil)}|", "%{NAME:shescape}", "%!x", "%{expand:%(./evil)}", "%{load:list}", "$(touch PWNED)", "%{#NAME}", "%{NAME:xml}", ":")
	words := []string{"rpm"}
	for range 1 + r.IntN(5) {
		words = append(words, r.pick("-q", "-qa", "-q", "-qi", "-ql", "--query", "-qp", "--qf "+r.q(format), "--queryformat="+r.q(format), "-f", "-a", "--last", "--changelog", "--version", "--eval "+r.q(format), "-E "+r.q(format), "--define 'x %(./evil)'", "-D 'x y'", "--root .", "--dbpath d", "--rcfile list", "--macros list", "--pipe ./evil", "--initdb", "--rebuilddb", "-i", "-e", "-U", "-V", "--import a", "--load list", "bash", "a", "./evil", "http://127.0.0.1:9/x", "-", "'*'", "--whatrequires", "--scripts", "--showrc", "-p"))
	}
	return strings.Join(words, " ")
}

// A usage is what a grammar file lists for a program or one of its subcommands.
type usage struct {
	command string
	words   []string // flags of every kind
}

// usages reads the grammar files: whatever they list is tried with whatever follows.
var usages = sync.OnceValue(func() (all []usage) {
	files, err := filepath.Glob("grammar/data/*.txt")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		all = append(all, usagesOf(string(data))...)
	}
	return all
})

// usagesOf reads one file. Programs that ask about the machine or a service, and those
// that run others, are left out: the first may connect, the second are tried with what
// they run.
func usagesOf(text string) (all []usage) {
	if strings.Contains(text, "\noutside\n") || strings.Contains(text, "\nwraps ") {
		return nil
	}
	var names, sets []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 2:
		case fields[0] == "command":
			for _, name := range fields[1:] {
				if _, err := exec.LookPath(name); err == nil {
					names = append(names, name)
					all = append(all, usage{command: name})
				}
			}
		case fields[0] == "set":
			all = append(all, usage{})
		case fields[0] == "sub":
			for _, name := range names {
				for sub := range strings.SplitSeq(fields[1], "|") {
					all = append(all, usage{command: strings.Join(append([]string{name, sub}, fields[2:]...), " ")})
				}
			}
		case len(all) == 0:
		case strings.HasPrefix(fields[0], "flags"), strings.HasPrefix(fields[0], "value"), strings.HasPrefix(fields[0], "optional"), strings.HasPrefix(fields[0], "pair"):
			last := &all[len(all)-1]
			if last.words = append(last.words, fields[1:]...); last.command == "" {
				sets = append(sets, fields[1:]...)
			}
		}
	}
	for i := range all {
		all[i].words = append(all[i].words, sets...)
	}
	return slices.DeleteFunc(all, func(u usage) bool { return u.command == "" })
}

// anyCommand puts flags of a grammar together with values and operands that would do
// harm if a flag took one more word, or one less, than the grammar says.
func anyCommand(r *chooser) string {
	u := usages()[r.IntN(len(usages()))]
	words := []string{u.command}
	for range r.IntN(6) {
		flag := ""
		if len(u.words) > 0 {
			flag = r.q(r.pick(u.words...))
		}
		words = append(words, r.pick(flag, flag, flag, flag+r.pick("=1", "=PWNED", "=a", "1", "PWNED", "=./evil", "=.env"),
			r.pick("a", "b", "x.txt", "j.json", "src", ".", "list", "cert.pem", "1", "2", "HEAD", "-"),
			r.pick("PWNED", "-o", "-o PWNED", "--output=PWNED", "--output PWNED", "-w", "-i", "./evil", "--exec=./evil", "-f list", "-T ./evil", "@list", "+1", "-delete", "-e", "--files0-from=list", "--compress-program=./evil", "http://127.0.0.1:9/", "-c", "-x", "-p", "-r", "-d", "-s", "-S", "'|./evil'", "'$(./evil)'", "--", "-h", "--help", ".env", "'%n'")))
	}
	return strings.Join(words, " ")
}

// TestAllowedCommandsOnlyRead runs what is judged to only read among the commands of all
// corpora and attacks: none attempts more. One in eight runs by default, all with
// HAFT_NIGHTLY. Commands about the machine or a service of the user are left out: they
// connect to it.
func TestAllowedCommandsOnlyRead(t *testing.T) {
	w := newWatcher(t)
	every := 24
	switch {
	case needtest.Nightly():
		every = 1
	case needtest.Thorough():
		every = 8
	}
	var commands []string
	allowed := 0
	for _, file := range []string{"testdata/bash.jsonl", "testdata/redteam.jsonl", "testdata/secondattack.jsonl", "../guard/permission/testdata/thirdattack.jsonl", "../guard/permission/testdata/fourthattack.jsonl"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var c struct{ Cmd string }
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			a := shell.Analyze(c.Cmd, w.where)
			if !a.ReadOnly || a.Outside {
				continue
			}
			if allowed++; allowed%every == 0 {
				commands = append(commands, a.Run)
			}
		}
	}
	succeeded := 0
	for batch := range slices.Chunk(commands, 100) {
		found, good := w.effects(t, batch)
		for _, f := range found {
			t.Errorf("%s\n\tattempts %s", f.command, f.what)
		}
		succeeded += good
	}
	t.Logf("%d of %d commands that are allowed ran, %d without an error", len(commands), allowed, succeeded)
	if succeeded < len(commands)/3 {
		t.Errorf("only %d of %d commands succeeded: the test shows little", succeeded, len(commands))
	}
}
