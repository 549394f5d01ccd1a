package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// fileOperands notes the files that a command which is not read-only names.
// For the commands that only change files (touch, mkdir, rmdir, rm, mv, cp,
// sed -i) it returns them and true, if all is literal.
func (a *analyzer) fileOperands(args []value) ([]Path, bool) {
	unwrapped := a.unwrapped(args)
	edits, isEdit := a.fileEdits(unwrapped)
	inner, more := a.peelForAllow(args)
	return edits, isEdit && !more && len(unwrapped) == len(inner) && a.fromSystem(args[:len(args)-len(unwrapped)+1])
}

// fromSystem reports whether programs, given with the options of those that wrap others, are the
// system's: one of the project may do anything, whatever it is called.
func (a *analyzer) fromSystem(words []value) bool {
	for _, w := range words {
		if strings.HasPrefix(w.guess, "-") || strings.Contains(w.guess, "=") {
			continue
		}
		if _, err := a.program(w.guess); err != nil {
			return false
		}
	}
	return true
}

// fileEdits is fileOperands without wrappers.
func (a *analyzer) fileEdits(args []value) ([]Path, bool) {
	if len(args) == 0 {
		return nil, false
	}
	name := path.Base(args[0].guess)
	flags, rest := splitFlags(args[1:])
	switch name {
	case "rm":
		a.takeWhole(&a.out.WriteTrees, rest)
		return a.edits(args, nil, rest, editFlags[name])
	case "touch", "mkdir", "rmdir":
		return a.edits(args, nil, rest, editFlags[name])
	case "mv", "cp", "ln", "install", "rsync", "scp":
		return a.copies(name, args, rest)
	case "sed":
		return a.sedEdit(args)
	case "tee":
		return a.edits(args, nil, rest, editFlags[name])
	case "gofmt":
		if slices.ContainsFunc(flags, func(v value) bool { return v.guess == "-w" }) {
			return a.edits(args, nil, rest, editFlags[name])
		}
		a.noteAll(rest, nil)
	case "truncate":
		return a.truncates(args, rest)
	case "shred", "unlink", "strip", "sponge", "patch", "mkfifo", "mknod", "gzip", "gunzip", "xz", "bzip2", "zstd":
		a.noteAll(nil, rest)
	case "chmod", "chown", "chgrp": // a mode is no edit of a file
		a.noteAll(nil, rest[min(1, len(rest)):])
	case "find":
		a.findWrites(args[1:])
	case "dd":
		a.ddOperands(args[1:])
	default:
		a.valueWrites(name, args[1:])
		if a.table.ReadsFiles(name) {
			a.noteAll(rest, nil)
		}
		if a.table.Joins(name) {
			for _, w := range a.joined(toWords(rest)) {
				a.read(w)
			}
		}
	}
	return nil, false
}

// copies handles the programs that put files elsewhere, under the same name if the
// target is a directory. Of those only cp and mv do nothing but edit.
func (a *analyzer) copies(name string, args, rest []value) ([]Path, bool) {
	sources, target := rest, value{}
	if dir, others, ok := targetDirectory(args[1:]); ok {
		target = dir
		_, sources = splitFlags(others)
	} else if len(rest) > 0 {
		sources, target = rest[:len(rest)-1], rest[len(rest)-1]
	} else {
		return nil, false
	}
	writes := []value{target}
	switch name {
	case "mv":
		writes = append(writes, sources...)
		a.takeWhole(&a.out.WriteTrees, sources)
	case "ln": // what a link leads to has another name, too; it is written as seen from the link
		a.takeWhole(&a.out.ReadTrees, sources)
		for _, source := range sources {
			a.takeWhole(&a.out.ReadTrees, words(path.Join(path.Dir(target.guess), source.guess), path.Join(target.guess, source.guess)))
		}
	case "cp", "rsync", "scp":
		a.takeWhole(&a.out.ReadTrees, sources)
		a.out.FollowsLinks = a.out.FollowsLinks || name == "scp" || slices.ContainsFunc(args[1:], followsLinks)
	}
	landings, known := a.landings(sources, target)
	writes = append(writes, landings...)
	edits, ok := a.edits(args, sources, writes, editFlags[name])
	if name == "ln" {
		a.noteLinks(sources, target)
		// A link is as harmless as what it leads to, if it is one of the same folder.
		symbolic := slices.ContainsFunc(args[1:], func(v value) bool { return strings.HasPrefix(v.guess, "-") && strings.Contains(v.guess, "s") })
		return edits, ok && known && symbolic && len(rest) == 2 && below(rest[0].guess) && below(rest[1].guess) && !strings.Contains(rest[1].guess, "/")
	}
	return edits, ok && known && (name == "cp" || name == "mv")
}

// noteLinks notes what names lead to once links are made.
func (a *analyzer) noteLinks(sources []value, target value) {
	for _, source := range sources {
		for _, dir := range a.dirs {
			name, leads := join(dir, target.guess), join(path.Dir(join(dir, target.guess)), source.guess)
			a.links = append(a.links, link{name, leads}, link{path.Join(name, path.Base(source.guess)), join(name, source.guess)})
		}
	}
}

// A link is one that the command makes before.
type link struct{ name, leads string }

// linked returns the files that a path names by the links that the command makes.
func (a *analyzer) linked(p Path) []Path {
	full := p.Value
	if !path.IsAbs(full) {
		full = join(p.Cwd, full)
	}
	var out []Path
	for _, l := range a.links {
		if rest, below := pathin.Below(l.name, full); below {
			q := p
			q.Value = path.Join(l.leads, rest)
			out = append(out, q)
		}
	}
	return out
}

// followsLinks reports whether a flag makes a copy of what links lead to.
func followsLinks(v value) bool {
	if strings.HasPrefix(v.guess, "--") {
		return strings.HasPrefix(v.guess, "--deref") || strings.HasPrefix(v.guess, "--copy")
	}
	return strings.HasPrefix(v.guess, "-") && strings.ContainsAny(v.guess, "LHk")
}

// targetDirectory finds -t DIR or --target-directory=DIR and returns the words without it.
func targetDirectory(args []value) (dir value, others []value, ok bool) {
	for i, v := range args {
		s := v.guess
		switch {
		case s == "--":
			return value{}, nil, false
		case strings.HasPrefix(s, "--t") && strings.HasPrefix("--target-directory", strings.SplitN(s, "=", 2)[0]):
			if _, d, attached := strings.Cut(s, "="); attached {
				return words(d)[0], slices.Delete(slices.Clone(args), i, i+1), true
			}
		case len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.Contains(s, "t"):
			if d := s[strings.Index(s, "t")+1:]; d != "" {
				return words(d)[0], slices.Delete(slices.Clone(args), i, i+1), true
			}
		default:
			continue
		}
		if i+1 < len(args) {
			return args[i+1], slices.Delete(slices.Clone(args), i, i+2), true
		}
	}
	return value{}, nil, false
}

// maxLandings bounds the files that a copy of directories is followed to.
const maxLandings = 2000

// landings returns the files that appear below the target when it is a directory or
// becomes one, and whether all of them are known.
func (a *analyzer) landings(sources []value, target value) (out []value, known bool) {
	if a.opts.FS == nil {
		return nil, true
	}
	for _, dir := range a.dirs {
		into := join(dir, target.guess)
		if !strings.HasPrefix(into, "/") {
			return out, false
		}
		info, err := a.opts.FS.Stat(into)
		if err == nil && !info.IsDir() {
			continue
		}
		for _, source := range sources {
			written := source.guess
			if err != nil {
				written += "/." // the target takes the place of the source
			}
			names, ok := a.landed(join(dir, source.guess), written)
			if !ok {
				return out, false
			}
			for _, name := range names {
				if out = append(out, words(path.Join(target.guess, name))...); len(out) > maxLandings {
					return out, false
				}
			}
		}
	}
	return out, true
}

// landed returns the names under which a source appears in a directory: its own, and
// what is below it, or only that if it is named as "dir/.".
func (a *analyzer) landed(full, written string) ([]string, bool) {
	base := path.Base(written)
	if strings.HasSuffix(written, "/.") || base == "." || base == ".." {
		base = ""
	}
	var out []string
	if base != "" {
		out = append(out, base)
	}
	info, err := a.opts.FS.Stat(full)
	if err != nil || !info.IsDir() {
		return out, true
	}
	var list func(rel string) bool
	list = func(rel string) bool {
		entries, err := a.opts.FS.ReadDir(path.Join(full, rel))
		if err != nil || len(out)+len(entries) > maxLandings {
			return false
		}
		for _, e := range entries {
			out = append(out, path.Join(base, rel, e.Name()))
			if e.IsDir() && !list(path.Join(rel, e.Name())) {
				return false
			}
		}
		return true
	}
	return out, list("")
}

// editFlags are those with which a command still only changes the files that
// it names.
var editFlags = map[string]string{
	"touch": "-a -c -m --no-create", "mkdir": "-p --parents -v --verbose", "rmdir": "-p --parents -v --verbose", "rm": "-r -R -f -v -d -rf -fr -Rf -rfv --recursive --force --verbose --dir",
	"tee": "-a --append", "gofmt": "-w -s -l -e -d", "ln": "-s -f -n -sf -fs -sn -sfn -snf -v --symbolic --force",
	"mv": "-f -n -v -u --force --no-clobber --verbose --update", "cp": "-r -R -a -p -f -n -v -u -rf -rv -av -rp --recursive --archive --force --no-clobber --verbose --update",
}

// edits notes files and returns them if every word is literal and known.
func (a *analyzer) edits(args, reads, writes []value, allowed string) ([]Path, bool) {
	a.noteAll(reads, writes)
	var out []Path
	for _, v := range append(slices.Clone(reads), writes...) {
		out = append(out, a.paths(v.Word)...)
	}
	ok := len(writes) > 0 && !slices.ContainsFunc(args, func(v value) bool { return !v.Known() || v.refuse != "" })
	flags, _ := splitFlags(args[1:])
	for _, f := range flags {
		ok = ok && slices.Contains(strings.Fields(allowed), f.guess)
	}
	return compactPaths(out), ok
}

// takeWhole notes folders that a command takes as a whole.
func (a *analyzer) takeWhole(list *[]Path, folders []value) {
	for _, v := range folders {
		*list = append(*list, a.paths(v.Word)...)
	}
}

func (a *analyzer) noteAll(reads, writes []value) {
	for _, v := range reads {
		a.read(v.Word)
	}
	for _, v := range writes {
		a.write(v.Word)
	}
}

// splitFlags tells flags from operands, without knowledge of the program.
func splitFlags(args []value) (flags, rest []value) {
	for i, v := range args {
		if v.guess == "--" {
			return flags, append(rest, args[i+1:]...)
		}
		if len(v.guess) > 1 && v.guess[0] == '-' {
			flags = append(flags, v)
		} else {
			rest = append(rest, v)
		}
	}
	return flags, rest
}

// truncates handles truncate -s N FILE.
func (a *analyzer) truncates(args, rest []value) ([]Path, bool) {
	if len(args) > 3 && args[1].guess == "-s" && args[2].Known() && strings.Trim(args[2].Value, "0123456789KMG") == "" {
		return a.edits(append(words("truncate"), args[3:]...), nil, rest[1:], "")
	}
	a.noteAll(nil, rest)
	return nil, false
}

// inPlace finds -i, -i.bak, -Ei and --in-place among the flags of sed.
var inPlace = lazyregexp.New(`^(?:-([Enrsz]*)i(\.[A-Za-z0-9_]+)?|--in-place(?:=(\.[A-Za-z0-9_]+))?)$`)

// sedEdit handles sed that is not read-only. With -i and a script that only
// filters it is an edit of its operands.
func (a *analyzer) sedEdit(args []value) ([]Path, bool) {
	plain, suffix, edits := words("sed"), "", false
	for _, v := range args[1:] {
		m := inPlace.FindStringSubmatch(v.guess)
		switch {
		case m == nil:
			plain = append(plain, v)
		default:
			edits, suffix = true, m[2]+m[3]
			if m[1] != "" {
				plain = append(plain, words("-"+m[1])...)
			}
		}
	}
	_, rest := splitFlags(args[1:])
	if !edits {
		loose := slices.ContainsFunc(args[1:], func(v value) bool {
			return strings.HasPrefix(v.guess, "--in") || strings.HasPrefix(v.guess, "-") && !strings.HasPrefix(v.guess, "--") && strings.Contains(v.guess, "i")
		})
		if loose {
			a.noteAll(nil, rest)
		} else {
			a.noteAll(rest, nil)
		}
		return nil, false
	}
	use, err := a.table.Check(toWords(plain))
	if err != nil {
		a.noteAll(nil, rest[min(1, len(rest)):])
		return nil, false
	}
	var out []Path
	for _, w := range use.Reads {
		a.write(w)
		out = append(out, a.paths(w)...)
		if suffix != "" && w.Known() {
			out = append(out, a.paths(words(w.Value + suffix)[0].Word)...)
		}
	}
	known := !slices.ContainsFunc(args, func(v value) bool { return !v.Known() || v.refuse != "" })
	return compactPaths(out), known && len(out) > 0
}

func (a *analyzer) findWrites(args []value) {
	for i, v := range args {
		if strings.HasPrefix(v.guess, "-fprint") || v.guess == "-fls" {
			if i+1 < len(args) {
				a.write(args[i+1].Word)
			}
		}
	}
	deletes := slices.ContainsFunc(args, func(v value) bool { return v.guess == "-delete" })
	for _, v := range args {
		if strings.HasPrefix(v.guess, "-") || v.guess == "(" || v.guess == "!" {
			break
		}
		if deletes {
			a.write(v.Word)
			if i := len(args) - 1; !slices.ContainsFunc(args[:i], func(v value) bool { return strings.HasPrefix(v.guess, "-") }) {
				a.takeWhole(&a.out.WriteTrees, []value{v}) // nothing selects some of the files
			}
		} else {
			a.read(v.Word)
		}
	}
}

func (a *analyzer) ddOperands(args []value) {
	for _, v := range args {
		if file, ok := strings.CutPrefix(v.guess, "of="); ok {
			a.write(words(file)[0].Word)
		}
		if file, ok := strings.CutPrefix(v.guess, "if="); ok {
			a.read(words(file)[0].Word)
		}
	}
}

// outputFlags name the file that a program writes.
var outputFlags = map[string][]string{
	"sort": {"-o", "--output"}, "curl": {"-o", "--output"}, "wget": {"-O", "--output-document"}, "tree": {"-o"}, "iconv": {"-o", "--output"}, "git": {"--output"}, "gcc": {"-o"}, "go": {"-o"},
	"pandoc": {"-o", "--output"}, "gpg": {"-o", "--output"}, "openssl": {"-out"}, "jq": {}, "tar": {"-f", "--file", "-C", "--directory"}, "unzip": {"-d"},
}

func (a *analyzer) valueWrites(name string, args []value) {
	for i, v := range args {
		for _, flag := range outputFlags[name] {
			rest, ok := strings.CutPrefix(v.guess, flag)
			switch {
			case !ok:
			case rest == "" && i+1 < len(args):
				a.write(args[i+1].Word)
			case strings.HasPrefix(rest, "="):
				a.write(words(rest[1:])[0].Word)
			case rest != "" && !strings.HasPrefix(flag, "--"):
				a.write(words(rest)[0].Word)
			}
		}
	}
}
