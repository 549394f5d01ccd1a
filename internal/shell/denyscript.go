package shell

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// A script may reach a shell by other ways than the operand of -c: its input,
// its positional parameters, an alias, a variable or a flag that names a
// program. What is found here is only for rules that deny or ask.

// maxTexts bounds the texts that are looked at as scripts.
const maxTexts = 200

// feed notes a text that a command prints or gets as its input.
func (a *analyzer) feed(text string) {
	if strings.TrimSpace(text) != "" && len(a.texts) < maxTexts {
		a.texts = append(a.texts, text)
	}
}

// denyFed adds the commands in those texts if some shell reads its script from
// its input.
func (a *analyzer) denyFed() {
	for i := 0; a.fed && i < len(a.texts); i++ { // a script may feed another
		a.denyScript(a.texts[i], maxDenyWrappers)
	}
	may := a.fedText != "" || a.runsFiles && (a.writes || len(a.written) > 0)
	for i := 0; may && i < len(a.texts); i++ {
		a.mayRunText(a.texts[i] + "\n")
		if strings.HasSuffix(a.fedText, "sed") {
			a.denySed(words("sed", a.texts[i]), 1)
		}
		if startsUnknown(a.fedText, a.texts[i]) {
			a.unseen("it runs code that may start any program")
		}
	}
}

// printed returns what echo or printf would print.
func printed(args []value) string {
	if len(args) < 2 {
		return ""
	}
	var words []string
	for _, v := range args[1:] {
		words = append(words, v.guess)
	}
	switch path.Base(args[0].guess) {
	case "echo":
		return strings.Join(words, " ")
	case "printf":
		format, _ := ansiC(words[0])
		for _, arg := range words[1:] {
			format = strings.Replace(format, "%s", arg, 1)
		}
		return format
	}
	return ""
}

// denyShell adds the script of sh -c.
func (a *analyzer) denyShell(args []value, depth int) {
	script := scriptOperand(args[1:])
	switch {
	case len(script) > 0:
		a.denyWith(script[0].guess, script[1:], depth)
		a.fed = a.fed || strings.Trim(script[0].guess, "{}$@ ") == "" // xargs -I{} sh -c {}
	case !slices.ContainsFunc(args[1:], func(v value) bool { return !strings.HasPrefix(v.guess, "-") && v.guess != "/dev/stdin" }):
		a.fed = true
	default:
		a.fed = a.fed || slices.ContainsFunc(args[1:], func(v value) bool { return v.guess == "-s" })
	}
	if name := path.Base(args[0].guess); (name == "busybox" || name == "toybox") && len(args) > 1 {
		a.denyWords(args[1:], depth-1)
		a.critical(args[1:])
	}
}

// scriptOperand returns the operand of -c and the words after it.
func scriptOperand(args []value) []value {
	for i, v := range args {
		s := v.guess
		if s != "--command" && (!strings.HasPrefix(s, "-") || strings.HasPrefix(s, "--") || !strings.Contains(s, "c")) {
			continue
		}
		rest := args[i+1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0].guess, "-") {
			rest = rest[1:]
		}
		return rest
	}
	return nil
}

// denyWith adds the commands of a script whose $0, $1 and so on are known.
func (a *analyzer) denyWith(script string, params []value, depth int) {
	vars := a.vars
	a.vars = maps.Clone(vars)
	a.bindParams(params)
	a.denyScript(script, depth)
	a.vars = vars
}

// bindParams notes what $0, $1 and so on are likely to be.
func (a *analyzer) bindParams(params []value) {
	for i, v := range params {
		a.vars[strconv.Itoa(i)] = binding{value: value{guess: v.guess, Word: grammar.Word{Dynamic: true}}}
	}
	if len(params) > 1 {
		all := binding{value: value{guess: joinGuesses(params[1:]), Word: grammar.Word{Dynamic: true}}}
		a.vars["@"], a.vars["*"] = all, all
	}
}

// inContext tells apart texts that mean something else: what they run depends
// on the directory and on the variables that they name.
func (a *analyzer) inContext(text string) string {
	key := text + "\n" + strings.Join(a.dirs, "\n")
	if !strings.Contains(text, "$") {
		return key
	}
	for _, name := range slices.Sorted(maps.Keys(a.vars)) {
		if strings.Contains(text, name) {
			key += "\n" + name + "=" + a.vars[name].value.guess
		}
	}
	return key
}

// programVariables name a program that others run.
var programVariables = strings.Fields(`PAGER GIT_PAGER MANPAGER GH_PAGER SYSTEMD_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS
	SUDO_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND LESSOPEN LESSCLOSE BROWSER PROMPT_COMMAND RSYNC_RSH CVS_RSH FCEDIT BASH_ENV ENV SHELL PS0 PS1 PS2 PS4`)

// looseWrappers run a program whose name is somewhere among their words.
var looseWrappers = strings.Fields(`i386 i486 i586 i686 x86_64 uname26 linux32 strace ltrace gdb lldb valgrind prlimit setarch linux64 numactl bwrap firejail perf hyperfine gosu su-exec chpst setuidgid softlimit rlwrap entr runuser tmux screen parallel ssh
	fakeroot choom systemd-cat ssh-agent sg torsocks torify eatmydata cgexec pkexec run0 schroot proot xvfb-run dbus-launch unbuffer start-stop-daemon daemonize cpulimit tini dumb-init rr heaptrack nsjail nix-shell mpirun srun bunx pnpx`)

// isLoose reports whether a program is one of them, or loads another program.
func isLoose(name string) bool {
	return slices.Contains(looseWrappers, name) || strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld.so")
}

// subWrappers do so after one of these words.
var subWrappers = map[string][]string{
	"docker": {"run", "exec", "create"}, "podman": {"run", "exec", "create"}, "nerdctl": {"run", "exec", "create"}, "docker-compose": {"run", "exec"},
	"kubectl": {"exec", "run", "debug"}, "oc": {"exec", "run", "rsh"}, "git": {"run"},
}

// runners do so on this machine, after one of these words.
var runners = map[string][]string{
	"npm": {"exec", "x"}, "pnpm": {"exec", "dlx"}, "yarn": {"exec", "dlx"}, "bun": {"x"}, "bundle": {"exec"}, "mise": {"exec", "x"}, "asdf": {"exec"}, "opam": {"exec"}, "rustup": {"run"}, "nix": {"develop", "shell"},
	"hatch": {"run"}, "pdm": {"run"}, "rye": {"run"}, "pixi": {"run"}, "stack": {"exec"}, "cabal": {"exec"}, "op": {"run"}, "aws-vault": {"exec"}, "doppler": {"run"}, "dotenvx": {"run"}, "chef": {"exec"}, "machinectl": {"shell"},
}

// denyLoose adds what such a wrapper may run.
func (a *analyzer) denyLoose(name string, args []value, depth int) {
	if subs := slices.Concat(subWrappers[name], runners[name]); subs != nil {
		i := slices.IndexFunc(args, func(v value) bool { return slices.Contains(subs, v.guess) })
		if i < 0 {
			return
		}
		args = args[i:]
	} else if !isLoose(name) {
		return
	}
	a.denyTexts(args[1:], depth)
	for i := 1; i < len(args) && i <= maxSuffixes; i++ {
		if strings.HasPrefix(args[i].guess, "-") {
			continue
		}
		a.denyWords(args[i:], min(depth-1, 1))
		if n := path.Base(args[i].guess); n == "rm" || n == "find" {
			a.critical(args[i:])
		}
	}
}

// denyTexts adds the words that are scripts by their looks.
func (a *analyzer) denyTexts(args []value, depth int) {
	for _, v := range args {
		if strings.ContainsAny(v.Shape, " \t\n;|&") {
			a.checkScript(v)
		}
		if strings.ContainsAny(v.guess, " \t\n;|&") {
			a.denyScript(strings.TrimPrefix(v.guess, "!"), depth)
		}
	}
}

// runsScript reports whether a word of git says that another is a script.
func runsScript(v value) bool {
	switch v.guess {
	case "foreach", "filter-branch", "--exec", "-x", "run":
		return true
	}
	return strings.HasPrefix(v.guess, "!") || strings.Contains(v.guess, "=!") || strings.HasPrefix(v.guess, "--exec=")
}
