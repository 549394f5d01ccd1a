package shell

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell/grammar"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// maxWrappers bounds the wrappers around a command.
const maxWrappers = 8

// harmlessNames are variables that cannot change what a program runs, loads or
// contacts.
var harmlessNames = []string{
	"LANG", "LANGUAGE", "TZ", "NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "NODE_ENV", "CI", "TERM", "TIME_STYLE", "BLOCKSIZE", "BLOCK_SIZE",
	"CGO_ENABLED", "GOOS", "GOARCH", "GOARM", "GOAMD64", "RUST_LOG", "LOG_LEVEL", "DEBUG", "VERBOSE",
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
	return slices.Contains(harmlessNames, as.name) && !strings.ContainsAny(v.Value, "/\\$`;|&<>() \t\n")
}

// readOnly returns why a command is not known to be read-only.
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
		return grammar.Use{}, errors.New("the program's name is only known at run time")
	}
	if depth == 0 {
		return grammar.Use{}, errors.New("too many wrappers")
	}
	name, err := a.program(args[0].Value)
	if err != nil {
		return grammar.Use{}, err
	}
	args = append([]grammar.Word{grammar.Literal(name)}, args[1:]...)
	if (name == "cd" || name == "pushd" || name == "popd") && depth < maxWrappers {
		return grammar.Use{}, errors.New("cd behind a wrapper is read differently by shells")
	}
	if use, err, ok := a.builtin(args); ok {
		return use, err
	}
	use, err := a.table.Check(args)
	if err == nil {
		if _, err := a.table.Check(a.expanded(args)); err != nil {
			return use, err // a file has the name of a flag
		}
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

// expanded puts the files that patterns stand for in their places.
func (a *analyzer) expanded(args []grammar.Word) []grammar.Word {
	var out []grammar.Word
	for _, w := range args {
		matches, ok := a.expand(w)
		if !ok || len(matches) == 0 {
			out = append(out, w)
		}
		for _, m := range matches {
			out = append(out, grammar.Literal(m))
		}
	}
	return out
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
		return "", fmt.Errorf("%s is not a system program", name)
	}
	if a.inRoots(name) {
		return "", fmt.Errorf("%s is in a writable directory", name)
	}
	if fs := a.opts.FS; fs != nil {
		if hit, err := fs.LookPath(bare); err == nil && sameFile(fs, hit, name) {
			return bare, a.checkLookup(bare)
		}
		return "", fmt.Errorf("%s is not the %s found on PATH", name, bare)
	}
	if !slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin"}, dir) || bare == "time" {
		return "", fmt.Errorf("%s is not a system program", name)
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
		return fmt.Errorf("%s is found in a writable directory: %s", name, hit)
	}
	if real, err := a.opts.FS.EvalSymlinks(hit); err == nil && a.inRoots(real) {
		return fmt.Errorf("%s is found in a writable directory: %s", name, real)
	}
	if dir := filepath.Dir(hit); !a.safeDir(dir) {
		return fmt.Errorf("%s is found in %s, which others may write to", name, dir)
	}
	return nil
}

// safeDir reports whether a directory is one of PATH in which programs are looked for when a
// read-only command runs.
func (a *analyzer) safeDir(dir string) bool {
	safe, known := a.programs[dir]
	if !known {
		if a.programs == nil {
			a.programs = map[string]bool{}
		}
		listed := slices.ContainsFunc(filepath.SplitList(a.opts.FS.SearchPath()), func(d string) bool { return filepath.Clean(d) == dir })
		p := programDirs{opts: &a.opts}
		safe = listed && p.safe(dir)
		a.programs[dir] = safe
	}
	return safe
}

func (a *analyzer) inRoots(path string) bool {
	return slices.ContainsFunc(a.opts.Roots, func(root string) bool { return pathin.Contains(root, path) })
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
	case "pushd":
		a.pushed++
		return grammar.Use{}, a.checkCD(args[1:]), true
	case "popd":
		if a.pushed--; a.pushed < 0 || len(args) > 1 {
			return grammar.Use{}, errors.New("cd to a directory that is only known at run time"), true
		}
		return grammar.Use{}, nil, true
	case "bash", "sh":
		if len(args) == 3 && args[1].Known() && args[1].Value == "-c" {
			return grammar.Use{}, a.innerScript(args[0].Value, args[2]), true
		}
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
			return grammar.Use{}, errors.New("set changes the shell, and no command follows"), true
		}
	case "git":
		if a.moved() {
			return grammar.Use{}, errors.New("git in another directory uses the configuration there"), true
		}
	}
	return grammar.Use{}, nil, false
}

// plainScript is text that every shell reads alike.
var plainScript = lazyregexp.New(`^(?:[-A-Za-z0-9 ./_='"|;&,:+%@\n]|\$[A-Za-z_][A-Za-z0-9_]*)*$`)

// innerScript returns why the script of sh -c is not known to be read-only.
func (a *analyzer) innerScript(shell string, w grammar.Word) error {
	if !w.Known() || a.nested > 0 || a.inner {
		return errors.New("a script that is not given literally")
	}
	if shell == "sh" && !plainScript.MatchString(w.Value) {
		return errors.New("sh is not known to be read-only") // shells may read this text differently
	}
	inner := newAnalyzer(&a.opts)
	inner.dirs, inner.inner, inner.source = a.dirs, true, w.Value
	file, err := parse(w.Value)
	if reason := guard(w.Value); err != nil || reason != "" || len(file.Stmts) == 0 {
		return errors.New("a script that cannot be read")
	}
	inner.assigned, inner.looped = setNames(file)
	inner.stmts(file.Stmts)
	inner.checkIndirect()
	out := inner.finish()
	a.beside = true
	a.out.Reads = append(a.out.Reads, out.Reads...)
	a.out.Secrets = append(a.out.Secrets, out.Secrets...)
	a.out.UsesGit = a.out.UsesGit || out.UsesGit
	if !out.ReadOnly {
		return errors.New(out.Reason)
	}
	return nil
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
		return grammar.Use{}, errors.New("xargs: a flag that is not known to be harmless")
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
				shape := strings.ReplaceAll(w.Value, mark, unknown)
				inner[i] = grammar.Word{Value: before, Dynamic: true, Shape: shape, Wild: true, Listed: a.listed && strings.HasPrefix(shape, unknown) && !strings.Contains(shape, "..")}
			}
		}
	} else {
		inner = append(inner, grammar.Word{Dynamic: true, Many: true, Shape: unknown, Wild: true, Listed: a.listed})
	}
	if inner[0].Known() && isBuiltinOnly(inner[0].Value) {
		return grammar.Use{}, errors.New("xargs cannot run shell built-ins")
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
			return "", errors.New("xargs: it is not clear what -I replaces")
		}
		mark = rest
	}
	return mark, nil
}

// useReads notes the files that a read-only command names and refuses those
// that hold credentials or lie behind a link that leaves the project.
func (a *analyzer) useReads(use grammar.Use) error {
	var bad string
	for _, w := range use.Reads {
		if !use.Names || w.Known() {
			a.read(w)
		}
		bad = cmp.Or(bad, a.useRead(w, use))
	}
	for _, w := range use.Public {
		for _, p := range a.paths(w) {
			p.Public = true
			a.out.Reads = append(a.out.Reads, p)
		}
	}
	for _, w := range use.Globs {
		shape := w.Value
		if !w.Known() {
			shape = w.Shape
		}
		if reason := a.sensitive(shape, true, false); !strings.HasPrefix(shape, "!") {
			bad = cmp.Or(bad, reason)
		}
	}
	if use.Joins {
		for _, w := range a.joined(use.Reads) {
			a.read(w)
			bad = cmp.Or(bad, a.literalFile(w.Value, false))
		}
	}
	if use.Walks {
		bad = cmp.Or(bad, a.walk(use))
		a.noteSecrets(use)
	}
	if bad != "" {
		return errors.New(bad)
	}
	return nil
}

// joined returns the files that a program which compares finds itself: beside a directory, a
// file stands for the one of the same name in it.
func (a *analyzer) joined(operands []grammar.Word) []grammar.Word {
	if a.opts.FS == nil {
		return nil
	}
	var folders, names []string
	for _, w := range a.expanded(operands) {
		is := func(dir string) bool {
			full := join(dir, w.Value)
			info, err := a.opts.FS.Stat(full)
			return strings.HasPrefix(full, "/") && err == nil && info.IsDir()
		}
		if w.Known() && slices.ContainsFunc(a.dirs, is) {
			folders = append(folders, w.Value)
		} else if w.Known() {
			names = append(names, path.Base(w.Value))
		}
	}
	var out []grammar.Word
	for _, folder := range folders {
		for _, name := range names {
			out = append(out, grammar.Literal(path.Join(folder, name)))
		}
	}
	return out
}

// useRead returns why a program must not read the file that a word names, or the
// files that it becomes.
func (a *analyzer) useRead(w grammar.Word, use grammar.Use) string {
	shape := w.Value
	if !w.Known() {
		shape = w.Shape
	}
	matches, expanded := a.expand(w)
	switch {
	case use.Names && !w.Known():
		return a.sensitive(shape, false, use.Tree)
	case expanded:
		for _, m := range matches {
			if reason := a.literalFile(m, use.Tree); reason != "" {
				return reason
			}
		}
	case w.Pattern != "" && a.opts.FS != nil:
		return "the files that a pattern matches are only known at run time"
	}
	loose := !w.Known() || strings.ContainsAny(shape, "*?[") // git expands patterns itself
	if reason := a.sensitive(shape, loose && !use.Names, use.Tree); reason != "" {
		return reason
	}
	if w.Known() {
		return a.leavesByLink(w.Value)
	}
	return a.unknownFile(w)
}

// literalFile returns why one file must not be read.
func (a *analyzer) literalFile(name string, tree bool) string {
	return cmp.Or(a.sensitive(name, false, tree), a.leavesByLink(name))
}

// leavesByLink returns why a path that looks like one of the project is none.
func (a *analyzer) leavesByLink(name string) string {
	if a.opts.FS == nil {
		return ""
	}
	for _, dir := range a.dirs {
		if full := join(dir, name); strings.HasPrefix(full, "/") && a.inside(full) && a.leaves(full) {
			return fmt.Sprintf("%s is behind a link that leaves the project", name)
		}
	}
	return ""
}

// walk returns why a program must not show all that is below its directories.
func (a *analyzer) walk(use grammar.Use) string {
	if a.opts.FS == nil {
		return ""
	}
	l := chosen(use)
	for _, dir := range a.walked(use) {
		t := a.tree(dir)
		if reason := t.shown(l, use); reason != "" {
			return reason
		}
		if use.Follows {
			for _, link := range t.links {
				a.out.Reads = append(a.out.Reads, Path{Value: path.Join(dir, link), Cwd: a.opts.Cwd, Pattern: path.Join(dir, "**")})
			}
		}
	}
	return ""
}

// chosen is what the patterns of a program choose of the files below its directories.
func chosen(use grammar.Use) listing {
	l := listing{null: true}
	for _, w := range use.Globs {
		if !strings.HasPrefix(w.Value, "!") && w.Known() {
			l.names = append(l.names, w.Value)
		}
	}
	return l
}

// noteSecrets notes the files with credentials that a program would show of its directories.
func (a *analyzer) noteSecrets(use grammar.Use) {
	if a.opts.FS == nil {
		return
	}
	for _, dir := range a.walked(use) {
		t := a.tree(dir)
		a.addSecrets(dir, t.secrets(chosen(use), use))
		if use.Follows {
			a.addSecrets(dir, t.leaving)
		}
	}
}

// addSecrets notes those of the files and links in a folder that are or lead to credentials.
func (a *analyzer) addSecrets(dir string, names []string) {
	for _, name := range names {
		if real, err := a.opts.FS.EvalSymlinks(path.Join(dir, name)); err == nil && a.holdsSecret(real) {
			a.out.Secrets = append(a.out.Secrets, real)
		}
	}
}

// walked returns the directories that a command goes through: those that it is
// given, or the current one.
func (a *analyzer) walked(use grammar.Use) []string {
	var names []string
	reads := slices.DeleteFunc(slices.Clone(use.Reads), isProcSubst)
	for _, w := range reads {
		switch matches, ok := a.expand(w); {
		case ok:
			names = append(names, matches...)
		case w.Known():
			names = append(names, w.Value)
		default: // it may become anything in the folder that it begins with
			names = append(names, w.Value[:strings.LastIndexByte(w.Value, '/')+1])
		}
	}
	if len(names) == 0 && len(reads) == len(use.Reads) {
		names = []string{"."}
	}
	var out []string
	for _, name := range names {
		for _, dir := range a.dirs {
			full := join(dir, name)
			if info, err := a.opts.FS.Stat(full); strings.HasPrefix(full, "/") && err == nil && info.IsDir() {
				out = append(out, full)
			}
		}
	}
	return out
}

// checkIndirect refuses credentials that reach a program by a detour: the
// output of one command may be the operand of another.
func (a *analyzer) checkIndirect() {
	if !a.indirect {
		return
	}
	for _, w := range a.words {
		if slices.Contains(respellers, w) {
			a.refuse(w + " may match the name of a file that contains credentials")
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
