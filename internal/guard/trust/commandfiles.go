package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// A binder finds the files of a project that a shell command runs, and says what of it
// cannot be known before it runs.
type binder struct {
	h     *hasher
	dirs  []string            // that relative names may start from
	vars  map[string][]string // what the command assigns; nil is not known
	found map[string]string   // hashes by path below the root, and values by $NAME
	// written are the files that its output goes to. It changes them itself, so that by
	// themselves they bind nothing.
	written map[string]bool
	// unbound is the first thing that is run and cannot be known.
	unbound string
	// scripts says that names are looked at only where something is run: recipes name
	// their sources, too.
	scripts bool
	depth   int
}

const (
	maxValues  = 64  // of one word
	maxMatches = 500 // of a pattern, or files of a package
	maxDepth   = 6   // of commands inside commands
)

func (b *binder) command(text string) {
	if b.depth >= maxDepth {
		b.cannot("commands that are nested too deeply")
		return
	}
	b.depth++
	defer func() { b.depth-- }()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		b.cannot("a command that cannot be parsed")
		return
	}
	outer := b.vars
	b.vars = b.assigned(file)
	defer func() { b.vars = outer }()
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			b.call(n)
		case *syntax.Redirect:
			b.redirect(n)
		case *syntax.Stmt:
			b.input(n)
		case *syntax.BinaryCmd:
			b.pipe(n)
		case *syntax.Assign:
			b.assign(n)
		}
		return true
	})
}

// assign binds what a variable names by which programs find what they run.
func (b *binder) assign(as *syntax.Assign) {
	if as.Name == nil || as.Value == nil || !Risky(as.Name.Value) {
		return
	}
	for _, v := range b.values(as.Value) {
		for _, part := range strings.FieldsFunc(v, func(c rune) bool { return strings.ContainsRune(": ;'\"", c) }) {
			b.file(part)
			b.tree(part)
		}
	}
}

// input looks at the text that a statement gives a shell.
func (b *binder) input(st *syntax.Stmt) {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || !b.readsScript(call) {
		return
	}
	for _, r := range st.Redirs {
		word := r.Hdoc
		if r.Op == syntax.WordHdoc {
			word = r.Word
		}
		if word == nil {
			continue
		}
		values := b.values(word)
		if values == nil {
			b.cannot("the input of " + wordText(call.Args[0]))
		}
		for _, text := range values {
			b.command(text)
		}
	}
}

// pipe binds what is piped to a shell, if it is the content of files that are named.
func (b *binder) pipe(c *syntax.BinaryCmd) {
	to, ok := c.Y.Cmd.(*syntax.CallExpr)
	if !ok || c.Op != syntax.Pipe && c.Op != syntax.PipeAll || !b.readsScript(to) || slices.ContainsFunc(c.Y.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn || r.Hdoc != nil }) {
		return
	}
	from, ok := c.X.Cmd.(*syntax.CallExpr)
	if !ok || len(from.Args) == 0 || !slices.Contains([]string{"cat", "echo", "printf"}, from.Args[0].Lit()) {
		b.cannot("what is piped to " + wordText(to.Args[0]))
		return
	}
	for _, w := range from.Args[1:] {
		values := b.values(w)
		if values == nil {
			b.cannot("what is piped to " + wordText(to.Args[0]))
		}
		b.names(values)
		if from.Args[0].Lit() != "cat" {
			for _, text := range values {
				b.command(text)
			}
		}
	}
}

// readsScript reports whether a command is a shell that runs what it reads.
func (b *binder) readsScript(c *syntax.CallExpr) bool {
	for i, w := range c.Args {
		values := b.values(w)
		if len(values) != 1 || i == 0 && !shells.MatchString(filepath.Base(values[0])) || i > 0 && (values[0] == "-c" || !strings.HasPrefix(values[0], "-")) {
			return false
		}
	}
	return len(c.Args) > 0
}

// tree binds all files of a folder; a name that is none has no files.
func (b *binder) tree(name string) {
	paths := b.below(name)
	if b.h.root != nil && filepath.Clean(name) == "." {
		paths = append(paths, ".")
	}
	for _, path := range paths {
		if info, err := b.h.root.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		files := 0
		_ = fs.WalkDir(b.h.root.FS(), filepath.ToSlash(path), func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // what cannot be read runs nothing
			}
			if files++; files > maxMatches {
				b.cannot("the folder " + name)
				return fs.SkipAll
			}
			b.file(filepath.Join(b.h.base, file))
			return nil
		})
	}
}

func (b *binder) redirect(r *syntax.Redirect) {
	switch {
	case r.Word == nil || r.Hdoc != nil:
	case slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll}, r.Op):
		for _, v := range b.expand(b.values(r.Word)) {
			for _, path := range b.below(v) {
				b.written[filepath.ToSlash(path)] = true
			}
		}
	default:
		b.names(b.values(r.Word))
	}
}

func (b *binder) cannot(what string) {
	if b.unbound == "" {
		b.unbound = what
	}
}

// assigned returns the values that variables get in a command.
func (b *binder) assigned(file *syntax.File) map[string][]string {
	vars := make(map[string][]string)
	b.vars = vars
	set := func(name string, values []string) {
		if known, twice := vars[name]; twice && (known == nil || values == nil) {
			values = nil
		} else {
			values = slices.Concat(known, values)
		}
		vars[name] = values
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && n.Value != nil && n.Array == nil && n.Index == nil {
				set(n.Name.Value, b.values(n.Value))
			} else if n.Name != nil {
				set(n.Name.Value, nil)
			}
		case *syntax.WordIter:
			var all []string
			for _, w := range n.Items {
				values := b.values(w)
				if values == nil {
					all = nil
					break
				}
				all = append(all, b.expand(values)...)
			}
			set(n.Name.Value, all)
		}
		return true
	})
	return vars
}

// call looks at one simple command.
func (b *binder) call(c *syntax.CallExpr) {
	var args [][]string // the values of each word; nil is not known
	var texts []string
	for _, w := range c.Args {
		values := b.values(w)
		args = append(args, values)
		texts = append(texts, wordText(w))
	}
	b.run(args, texts)
	for i := 1; i < len(args) && !b.scripts; i++ {
		if len(args[0]) == 0 || !slices.Contains(dataPrograms, filepath.Base(args[0][0])) || contains(args[i-1], "-f") || contains(args[i-1], "--from-file") {
			b.names(args[i])
		}
	}
}

// wrappers run the command that follows them.
var wrappers = []string{"env", "sudo", "doas", "timeout", "nice", "ionice", "nohup", "time", "exec", "command", "builtin", "stdbuf", "setsid", "xargs", "flock", "chronic"}

// run looks at a program and its arguments.
func (b *binder) run(args [][]string, texts []string) {
	given := false // xargs adds words
	for len(args) > 0 {
		if args[0] == nil {
			b.cannot("the program " + texts[0])
			return
		}
		if !slices.Contains(wrappers, filepath.Base(args[0][0])) {
			break
		}
		given = given || filepath.Base(args[0][0]) == "xargs"
		args, texts = args[1:], texts[1:]
		if len(args) > 1 && (contains(args[0], "-S") || contains(args[0], "--split-string")) {
			for _, text := range args[1] {
				b.command(text)
			}
		}
		for len(args) > 1 && args[0] != nil && (strings.HasPrefix(args[0][0], "-") || strings.Contains(args[0][0], "=") || strings.Trim(args[0][0], "0123456789.smhd") == "") {
			args, texts = args[1:], texts[1:]
		}
	}
	if len(args) == 0 {
		return
	}
	for _, program := range b.expand(args[0]) {
		if given && interpreters.MatchString(filepath.Base(program)) {
			b.cannot("what xargs gives " + program)
		}
		b.file(program)
		b.bin(program)
		b.program(filepath.Base(program), args[1:], texts[1:])
	}
}

// names binds the files that words name, whatever they are for.
func (b *binder) names(values []string) {
	for _, v := range b.expand(values) {
		b.file(v)
		if _, path, ok := strings.Cut(v, "="); ok {
			b.file(path)
		}
	}
}

// file binds one file, seen from every folder that the command may be in.
func (b *binder) file(name string) {
	if name == "" || strings.HasPrefix(name, "-") {
		return
	}
	for _, path := range b.below(name) {
		if sum := b.h.sum(path); sum != "" {
			b.found[filepath.ToSlash(path)] = sum
		} else if info, err := os.Stat(filepath.Join(b.h.base, path)); err == nil && info.Mode().IsRegular() {
			if _, err := b.h.root.Stat(path); err != nil {
				b.cannot(path + ", which a link leads out of the project")
			}
		}
	}
}

// below returns what a name may mean, as paths below the root.
func (b *binder) below(name string) []string {
	if b.h.root == nil {
		return nil
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, _ := os.UserHomeDir()
		name = filepath.Join(home, rest)
	}
	var paths []string
	for _, dir := range b.dirs {
		path := name
		if !filepath.IsAbs(name) {
			path = filepath.Join(dir, name)
		}
		if rel, ok := pathin.Below(b.h.base, path); ok && rel != "" && !slices.Contains(paths, rel) {
			paths = append(paths, rel)
		}
	}
	return paths
}

// expand replaces patterns by what they match, from every folder. The files that a
// pattern matches later are others than these.
func (b *binder) expand(values []string) []string {
	var all []string
	for _, v := range values {
		if !strings.ContainsAny(v, "*?[") || b.h.root == nil {
			all = append(all, v)
			continue
		}
		for _, pattern := range b.below(v) {
			matches, err := fs.Glob(b.h.root.FS(), filepath.ToSlash(pattern))
			if errors.Is(err, path.ErrBadPattern) { // which a shell takes as it is
				all = append(all, v)
				continue
			}
			if err != nil || len(matches) > maxMatches {
				b.cannot("the pattern " + v)
				continue
			}
			for _, m := range matches {
				all = append(all, filepath.Join(b.h.base, m))
			}
		}
	}
	return all
}

// read returns the text of a file of the project; "" if it has none that can be read.
func (b *binder) read(path string) string {
	if b.h.root == nil || b.h.sum(path) == "" {
		return ""
	}
	const largest = 1 << 20
	if info, err := b.h.root.Stat(path); err != nil || info.Size() > largest {
		return ""
	}
	text, err := b.h.root.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// packageJSON is what of a package.json says what is run.
type packageJSON struct {
	Scripts map[string]string `json:"scripts"`
	Main    string            `json:"main"`
}

func (b *binder) packageAt(path string) (p packageJSON) {
	_ = json.Unmarshal([]byte(b.read(path)), &p) // one that cannot be read runs nothing
	return p
}

// from looks at a command that runs in another folder, where only what it runs counts.
func (b *binder) from(dir, text string) {
	dirs, scripts := b.dirs, b.scripts
	b.dirs, b.scripts = []string{dir}, true
	b.command(text)
	b.dirs, b.scripts = dirs, scripts
}

// makefiles binds makefiles, what they include and the scripts that the recipes of the
// wanted targets run.
func (b *binder) makefiles(args [][]string) {
	files := strings.Fields(runners["make"])
	var targets []string
	for i, a := range args {
		before := []string(nil)
		if i > 0 {
			before = args[i-1]
		}
		switch {
		case contains(before, "-f"), contains(before, "--file"), contains(before, "--makefile"):
			files = append(files, a...)
		case contains(before, "-C"), contains(before, "--directory"), contains(before, "-I"), contains(before, "-o"), contains(before, "-W"): // see enter
		case len(a) > 0 && !strings.HasPrefix(a[0], "-") && !strings.Contains(a[0], "="):
			targets = append(targets, a...)
		}
	}
	dirs := b.dirs
	for _, dir := range dirs {
		b.dirs = []string{dir}
		m := &makefile{vars: make(map[string]string), needs: make(map[string][]string), recipes: make(map[string][]string)}
		b.readMakefiles(m, files)
		wanted := targets
		if len(wanted) == 0 {
			wanted = []string{m.first}
		}
		for _, line := range m.lines(wanted) {
			b.from(dir, line)
		}
	}
	b.dirs = dirs
}

func (b *binder) readMakefiles(m *makefile, files []string) {
	seen := make(map[string]bool)
	for len(files) > 0 && len(seen) < maxMatches {
		name := files[0]
		files = files[1:]
		b.file(name)
		for _, path := range b.below(name) {
			if seen[path] {
				continue
			}
			seen[path] = true
			for _, more := range m.read(b.read(path)) {
				files = append(files, b.expand(strings.Fields(more))...)
			}
		}
	}
}

// program binds what a program runs because of its arguments.
func (b *binder) program(name string, args [][]string, texts []string) {
	b.enter(name, args)
	for file := range strings.FieldsSeq(runners[name]) {
		if b.h.skips == nil || !b.h.skips(name) {
			b.file(file)
		}
	}
	if slices.Contains(packagers, name) {
		b.packageScripts(args)
	}
	if slices.Contains(makes, name) {
		b.makefiles(args)
	}
	if interpreters.MatchString(name) {
		b.interpreter(name, args, texts)
	}
	switch name {
	case "eval":
		var script []string
		for i, a := range args {
			if a == nil {
				b.cannot("what " + texts[i] + " stands for")
				return
			}
			script = append(script, a[0])
		}
		b.command(strings.Join(script, " "))
	case "run-parts":
		for _, a := range args {
			for _, dir := range a {
				b.tree(dir)
			}
		}
	case "find":
		b.findExec(args, texts)
	case "git":
		for i, a := range args[1:] {
			if !contains(args[i], "-c") {
				continue
			}
			for _, setting := range a {
				_, value, _ := strings.Cut(setting, "=")
				b.file(value)
				b.tree(value)
			}
		}
	}
	if name == "go" && len(args) > 1 && contains(args[0], "run") {
		for _, a := range args[1:] {
			b.folder(a, ".go")
		}
	}
}

// findExec binds what find runs, and the files that it gives an interpreter.
func (b *binder) findExec(args [][]string, texts []string) {
	for i, a := range args {
		if !contains(a, "-exec") && !contains(a, "-execdir") && !contains(a, "-ok") && !contains(a, "-okdir") || i+1 >= len(args) {
			continue
		}
		b.run(args[i+1:], texts[i+1:])
		if len(args[i+1]) > 0 && !interpreters.MatchString(filepath.Base(args[i+1][0])) && args[i+1][0] != "{}" {
			continue
		}
		for _, start := range args {
			if len(start) == 0 || strings.HasPrefix(start[0], "-") {
				break
			}
			b.tree(start[0])
		}
	}
}

// enter follows a command into a folder, by cd or by an option.
func (b *binder) enter(name string, args [][]string) {
	for i, a := range args {
		moves := name == "cd" || name == "pushd" || i > 0 && (contains(args[i-1], "-C") || contains(args[i-1], "--prefix") || contains(args[i-1], "--cwd") || contains(args[i-1], "--directory"))
		if !moves {
			continue
		}
		for _, dir := range a {
			for _, path := range b.below(dir) {
				if path = filepath.Join(b.h.base, path); !slices.Contains(b.dirs, path) {
					b.dirs = append(slices.Clip(b.dirs), path)
				}
			}
		}
	}
}

// interpreter binds the script that an interpreter is given, as a file, a module, a
// folder or a text.
func (b *binder) interpreter(name string, args [][]string, texts []string) {
	skip := -1
	for i, a := range args {
		switch {
		case a == nil:
			b.cannot("what " + texts[i] + " stands for")
			return
		case contains(a, "-c") && i+1 < len(args) && shells.MatchString(name):
			for _, text := range args[i+1] {
				b.command(text)
			}
			if args[i+1] == nil {
				b.cannot("what " + texts[i+1] + " stands for")
			}
			return
		case contains(a, "-c"), contains(a, "-e"), contains(a, "--eval"), contains(a, "-p"):
			return // the text is part of the command
		case contains(a, "-m") && i+1 < len(args):
			b.module(args[i+1], texts[i+1])
			return
		case contains(a, "-I") && i+1 < len(args):
			for _, dir := range args[i+1] {
				b.tree(dir)
			}
			skip = i + 1
			continue
		case strings.HasPrefix(a[0], "-I"):
			b.tree(a[0][2:])
			continue
		case strings.HasPrefix(a[0], "-"), i == skip:
			continue
		}
		for _, script := range b.expand(a) {
			b.script(script)
		}
		return
	}
}

// script binds a script, or the program that a folder is.
func (b *binder) script(name string) {
	b.file(name)
	for _, suffix := range []string{".js", ".cjs", ".mjs", ".json", "/index.js", "/__main__.py", "/package.json"} {
		b.file(name + suffix)
	}
	for _, path := range b.below(name + "/package.json") {
		if main := b.packageAt(path).Main; main != "" {
			at := filepath.Join(b.h.base, filepath.Dir(path), main)
			for _, suffix := range []string{"", ".js", ".cjs", ".mjs", "/index.js"} {
				b.file(at + suffix)
			}
		}
	}
}

// module binds a module of Python, with its package.
func (b *binder) module(values []string, text string) {
	if values == nil {
		b.cannot("the module " + text)
		return
	}
	for _, m := range values {
		parts := strings.Split(m, ".")
		for i := range parts {
			at := strings.Join(parts[:i+1], "/")
			b.file(at + ".py")
			b.file(at + "/__init__.py")
		}
		b.folder([]string{strings.Join(parts, "/")}, ".py")
	}
}

// folder binds the files of a folder with an ending.
func (b *binder) folder(values []string, ending string) {
	for _, v := range values {
		for _, dir := range b.below(v) {
			entries, err := fs.ReadDir(b.h.root.FS(), filepath.ToSlash(dir))
			if err != nil {
				continue
			}
			if len(entries) > maxMatches {
				b.cannot("the folder " + v)
				continue
			}
			for _, e := range entries {
				if strings.HasSuffix(e.Name(), ending) {
					b.file(filepath.Join(b.h.base, dir, e.Name()))
				}
			}
		}
	}
}

// packageScripts binds what the scripts of package.json run that arguments name. The
// programs of installed packages come before others of their names.
func (b *binder) packageScripts(args [][]string) {
	var words []string
	for _, a := range args {
		words = append(words, a...)
	}
	for _, w := range words {
		b.bin(w)
	}
	for _, path := range b.below("package.json") {
		scripts := b.packageAt(path).Scripts
		for _, w := range words {
			if w == "t" || w == "tst" {
				w = "test"
			}
			for _, name := range []string{"pre" + w, w, "post" + w} {
				if text := scripts[name]; text != "" {
					b.from(filepath.Join(b.h.base, filepath.Dir(path)), text)
				}
			}
		}
	}
}

// bin binds the program of an installed package.
func (b *binder) bin(name string) {
	if name != "" && !strings.ContainsAny(name, "/\\") {
		b.file("node_modules/.bin/" + name)
	}
}

// values returns what a word can stand for; nil if that cannot be known.
func (b *binder) values(w *syntax.Word) []string { return b.parts(w.Parts, false) }

// parts joins what the parts of a word can stand for. Pattern characters that are
// quoted do not match anything, but no name of a file needs them.
func (b *binder) parts(parts []syntax.WordPart, quoted bool) []string {
	values := []string{""}
	for _, p := range parts {
		some := b.part(p, quoted)
		if some == nil || len(some)*len(values) > maxValues {
			return nil
		}
		var joined []string
		for _, v := range values {
			for _, s := range some {
				joined = append(joined, v+s)
			}
		}
		values = joined
	}
	return values
}

func (b *binder) part(p syntax.WordPart, quoted bool) []string {
	switch p := p.(type) {
	case *syntax.Lit:
		return []string{unescape(p.Value, quoted)}
	case *syntax.SglQuoted:
		if p.Dollar {
			return nil
		}
		return []string{p.Value}
	case *syntax.DblQuoted:
		return b.parts(p.Parts, true)
	case *syntax.ParamExp:
		return b.parameter(p)
	case *syntax.CmdSubst:
		return b.substituted(p)
	}
	return nil
}

// parameter returns what a variable can stand for: what the command assigns, the
// project's folder, or what the environment holds, which is bound with the rest.
func (b *binder) parameter(p *syntax.ParamExp) []string {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return nil
	}
	var fallback []string
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
			if fallback = []string{""}; p.Exp.Word != nil {
				fallback = b.values(p.Exp.Word)
			}
			if fallback == nil {
				return nil
			}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		default:
			return nil
		}
	}
	name := p.Param.Value
	if values, assigned := b.vars[name]; assigned {
		if values == nil {
			return nil
		}
		return append(values, fallback...)
	}
	switch name {
	case "CLAUDE_PROJECT_DIR", "HAFT_PROJECT_DIR":
		return []string{b.h.project}
	case "PWD":
		return b.dirs
	}
	value, set := os.LookupEnv(name)
	if !set {
		return fallback
	}
	b.found["$"+name] = value
	return append([]string{value}, fallback...)
}

// substituted returns what a command prints, where that is known: the folder.
func (b *binder) substituted(c *syntax.CmdSubst) []string {
	if len(c.Stmts) != 1 {
		return nil
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	var words []string
	for _, w := range call.Args {
		words = append(words, w.Lit())
	}
	switch strings.Join(words, " ") {
	case "pwd":
		return b.dirs
	case "git rev-parse --show-toplevel":
		return []string{b.h.base}
	}
	return nil
}

func wordText(w *syntax.Word) string {
	var text strings.Builder
	if err := syntax.NewPrinter().Print(&text, w); err != nil {
		return fmt.Sprintf("at %s", w.Pos())
	}
	return text.String()
}
