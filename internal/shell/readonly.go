package shell

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// maxWrappers bounds the wrappers around a command.
const maxWrappers = 8

// harmlessNames are variables that cannot change what a program runs, loads or
// contacts.
var harmlessNames = []string{
	"LANG", "LANGUAGE", "TZ", "NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "NODE_ENV", "CI", "TERM", "TIME_STYLE", "BLOCKSIZE", "BLOCK_SIZE",
	"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "GH_NO_UPDATE_NOTIFIER", "DEBIAN_FRONTEND",
}

// pagers are variables that name a program; cat is one that does nothing.
var pagers = []string{"PAGER", "GIT_PAGER", "GH_PAGER", "MANPAGER", "SYSTEMD_PAGER"}

func harmlessAssign(as assignment, args []value) bool {
	v := as.value
	switch {
	case !v.Known() || v.refuse != "":
		return false
	case slices.Contains(pagers, as.name):
		return v.Value == "cat"
	case as.name == "TERM" || as.name == "TZ" || as.name == "LANG" || as.name == "LANGUAGE" || strings.HasPrefix(as.name, "LC_"):
		// A value with a slash could name a file to load.
		return !strings.Contains(v.Value, "..") && !strings.HasPrefix(v.Value, "/") && !strings.HasPrefix(v.Value, ":") && (as.name == "TZ" || !strings.Contains(v.Value, "/"))
	case as.name == "GIT_OPTIONAL_LOCKS" || as.name == "GIT_TERMINAL_PROMPT":
		return v.Value == "0"
	case as.name == "IFS":
		return args[0].guess == "read"
	}
	return slices.Contains(harmlessNames, as.name)
}

// readOnly returns why a command is not known to only read.
func (a *analyzer) readOnly(args []value, assigns []assignment) (grammar.Use, error) {
	for _, as := range assigns {
		if !harmlessAssign(as, args) {
			return grammar.Use{}, fmt.Errorf("the variable %s may change what runs", as.name)
		}
	}
	for _, v := range args {
		if v.refuse != "" {
			return grammar.Use{}, errors.New(v.refuse)
		}
	}
	return a.readOnlyWords(toWords(args), maxWrappers)
}

// readOnlyWords judges words and, through wrappers, the command in them.
func (a *analyzer) readOnlyWords(args []grammar.Word, depth int) (grammar.Use, error) {
	if len(args) == 0 || !args[0].Known() || args[0].Value == "" {
		return grammar.Use{}, errors.New("the program's name is only known when it runs")
	}
	if depth == 0 {
		return grammar.Use{}, errors.New("too many wrappers")
	}
	name, err := a.program(args[0].Value)
	if err != nil {
		return grammar.Use{}, err
	}
	args = append([]grammar.Word{grammar.Literal(name)}, args[1:]...)
	if name == "cd" && depth < maxWrappers {
		return grammar.Use{}, errors.New("cd behind a wrapper is read differently by shells")
	}
	if use, err, ok := a.builtin(args); ok {
		return use, err
	}
	use, err := a.table.Check(args)
	if err == nil {
		return use, a.useReads(use)
	}
	if name == "xargs" {
		return a.xargs(args, depth)
	}
	if p, ok := a.table.Peel(args); ok && p.Allow && p.Exact {
		if inner := p.Words[0]; inner.Known() && isBuiltinOnly(inner.Value) && name != "command" && name != "builtin" {
			return grammar.Use{}, fmt.Errorf("%s cannot run %s", name, inner.Value)
		}
		return a.readOnlyWords(p.Words, depth-1)
	}
	return use, err
}

// isBuiltinOnly reports whether a program of this name is not what the shell's
// own command of the same name is.
func isBuiltinOnly(name string) bool {
	return slices.Contains([]string{"cd", "read", "command", "builtin", "type", "ulimit", "set"}, name)
}

// program returns the bare name of a program that is the system's.
func (a *analyzer) program(name string) (string, error) {
	if !strings.Contains(name, "/") {
		return name, a.checkLookup(name)
	}
	dir, bare := filepath.Split(name)
	dir = filepath.Clean(dir)
	if !filepath.IsAbs(name) || filepath.Clean(name) != name {
		return "", fmt.Errorf("%s is not a program of the system", name)
	}
	if a.inRoots(name) {
		return "", fmt.Errorf("%s is below a writable directory", name)
	}
	if fs := a.opts.FS; fs != nil {
		if hit, err := fs.LookPath(bare); err == nil && sameFile(fs, hit, name) {
			return bare, a.checkLookup(bare)
		}
		return "", fmt.Errorf("%s is not the %s that PATH finds", name, bare)
	}
	if !slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin"}, dir) || bare == "time" {
		return "", fmt.Errorf("%s is not a program of the system", name)
	}
	return bare, nil
}

// checkLookup refuses a bare name that PATH finds below a writable directory.
func (a *analyzer) checkLookup(name string) error {
	if a.opts.FS == nil {
		return nil
	}
	hit, err := a.opts.FS.LookPath(name)
	if err != nil && hit == "" {
		return nil // a builtin, or nothing: then nothing runs
	}
	if !filepath.IsAbs(hit) || a.inRoots(hit) {
		return fmt.Errorf("%s is found below a writable directory: %s", name, hit)
	}
	if real, err := a.opts.FS.EvalSymlinks(hit); err == nil && a.inRoots(real) {
		return fmt.Errorf("%s is found below a writable directory: %s", name, real)
	}
	return nil
}

func (a *analyzer) inRoots(path string) bool {
	return slices.ContainsFunc(a.opts.Roots, func(root string) bool { return within(root, path) })
}

func sameFile(fs FS, x, y string) bool {
	rx, errX := fs.EvalSymlinks(x)
	ry, errY := fs.EvalSymlinks(y)
	return errX == nil && errY == nil && rx == ry
}

// builtin judges commands of the shell that need more than a grammar. It
// reports false for all others.
func (a *analyzer) builtin(args []grammar.Word) (grammar.Use, error, bool) {
	switch args[0].Value {
	case "cd":
		return grammar.Use{}, a.checkCD(args[1:]), true
	case "[", "test":
		return grammar.Use{}, checkTest(args), true
	case "read":
		for i, w := range args[1:] {
			if !a.reading || !w.Known() || !(localName(w.Value) || i == 0 && w.Value == "-r") {
				return grammar.Use{}, errors.New("read sets a variable"), true
			}
			a.rebind(w.Value)
		}
		return grammar.Use{}, readAlone(args), true
	case "set":
		if a.lone {
			return grammar.Use{}, errors.New("set changes the shell and nothing follows"), true
		}
	case "git":
		if a.moved() {
			return grammar.Use{}, errors.New("git in another directory heeds the configuration there"), true
		}
	}
	return grammar.Use{}, nil, false
}

func readAlone(args []grammar.Word) error {
	if len(args) == 1 {
		return errors.New("read sets a variable")
	}
	return nil
}

// xargs judges the command that xargs runs with words nobody knows yet.
func (a *analyzer) xargs(args []grammar.Word, depth int) (grammar.Use, error) {
	p, ok := a.table.Peel(args)
	if !ok || !p.Exact {
		return grammar.Use{}, errors.New("xargs: a flag is not known to be harmless")
	}
	a.indirect = true
	flags := args[1 : len(args)-len(p.Words)]
	inner := slices.Clone(p.Words)
	mark, err := replaceMark(flags)
	if err != nil {
		return grammar.Use{}, err
	}
	if mark != "" {
		for i, w := range inner {
			if before, _, found := strings.Cut(w.Value, mark); found {
				inner[i] = grammar.Word{Value: before, Dynamic: true, Shape: strings.ReplaceAll(w.Value, mark, unknown)}
			}
		}
	} else {
		inner = append(inner, grammar.Word{Dynamic: true, Many: true, Shape: unknown})
	}
	if inner[0].Known() && isBuiltinOnly(inner[0].Value) {
		return grammar.Use{}, errors.New("xargs cannot run commands of the shell")
	}
	return a.readOnlyWords(inner, depth-1)
}

// replaceMark returns the text that xargs -I replaces, "" without -I. The flag
// must stand alone and be given once, or another word is the text.
func replaceMark(flags []grammar.Word) (mark string, err error) {
	for i, w := range flags {
		if !strings.HasPrefix(w.Value, "-") || !strings.Contains(w.Value, "I") {
			continue
		}
		rest, alone := strings.CutPrefix(w.Value, "-I")
		if rest == "" && i+1 < len(flags) {
			rest = flags[i+1].Value
		}
		if !alone || mark != "" || rest == "" {
			return "", errors.New("xargs: the text that -I replaces is not clear")
		}
		mark = rest
	}
	return mark, nil
}

// useReads notes the files that a read-only command names and refuses those
// that hold credentials.
func (a *analyzer) useReads(use grammar.Use) error {
	var bad error
	for _, w := range use.Reads {
		shape := w.Value
		if !w.Known() {
			shape = w.Shape
		}
		a.read(w)
		loose := !w.Known() || strings.ContainsAny(shape, "*?[") // git expands patterns itself
		if reason := a.sensitive(shape, loose && !use.Names, use.Tree); reason != "" && bad == nil {
			bad = errors.New(reason)
		}
	}
	for _, w := range use.Globs {
		shape := w.Value
		if !w.Known() {
			shape = w.Shape
		}
		if reason := a.sensitive(shape, true, false); reason != "" && !strings.HasPrefix(shape, "!") && bad == nil {
			bad = errors.New(reason)
		}
	}
	return bad
}

// checkIndirect refuses credentials that reach a program by a detour: the
// output of one command may be the operand of another.
func (a *analyzer) checkIndirect() {
	if !a.indirect {
		return
	}
	for _, w := range a.words {
		if slices.Contains(respellers, w) {
			a.refuse(w + " may spell the name of a file that holds credentials")
		}
		if reason := a.sensitive(w, namePattern(w), false); reason != "" {
			a.refuse(reason)
		}
	}
}

// respellers turn a harmless text into the name of another file.
var respellers = []string{"rev", "base64", "base32", "basenc", "xxd"}

// namePattern reports whether a word may be a pattern of file names, such as
// find takes, rather than a script or a test.
func namePattern(w string) bool {
	_, err := path.Match(w, "")
	return err == nil && strings.ContainsAny(w, "*?[") && w != ".*" && !strings.HasPrefix(w, "s/") && !strings.HasPrefix(w, "/") && !strings.Contains(w, " ")
}
