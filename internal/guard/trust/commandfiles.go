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

	"github.com/haftdev/haft/internal/sys/pathin"
	"mvdan.cc/sh/v3/syntax"
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

func wordText(w *syntax.Word) string {
	var text strings.Builder
	if err := syntax.NewPrinter().Print(&text, w); err != nil {
		return fmt.Sprintf("at %s", w.Pos())
	}
	return text.String()
}
