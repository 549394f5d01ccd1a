package preview

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/internal/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

// show turns entries into what the user sees: what matters first, then files in
// the order of their names, then what is not meant to be read.
func (r *Result) show(list []entry) *tool.Preview {
	p := &tool.Preview{Ran: true, Notes: r.notes(list)}
	for i := range list {
		e := &list[i]
		if isDir(e) && hasBelow(list, i) {
			continue // its files say it
		}
		f := tool.FileChange{Path: e.path, Before: shown(e.before), After: shown(e.after), Folded: folded(e)}
		if r.request.Protected != nil && f.Folded != foldedGit {
			f.Protected = r.request.Protected(e.path)
		}
		if e.after.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 && e.after.Mode.IsRegular() {
			f.Protected = "it runs as its owner"
		}
		if f.Protected != "" {
			f.Folded = "" // a program that writes it must not hide it by calling it generated
		}
		p.Files = append(p.Files, f)
	}
	slices.SortStableFunc(p.Files, func(a, b tool.FileChange) int { return rank(&a) - rank(&b) })
	return p
}

func isDir(e *entry) bool {
	return (e.before.Mode.IsDir() || !e.before.Exists()) && (e.after.Mode.IsDir() || !e.after.Exists())
}

// hasBelow reports whether a folder that came or went has a path below it in the
// list, which is sorted by path.
func hasBelow(list []entry, i int) bool {
	if list[i].before.Exists() && list[i].after.Exists() {
		return false // its mode changed
	}
	prefix := list[i].path + "/"
	n, _ := slices.BinarySearchFunc(list, prefix, func(e entry, p string) int { return strings.Compare(e.path, p) })
	return n < len(list) && strings.HasPrefix(list[n].path, prefix)
}

func rank(f *tool.FileChange) int {
	switch {
	case f.Folded == foldedGit:
		return 3
	case f.Protected != "":
		return 0
	case f.Folded != "":
		return 2
	}
	return 1
}

// shown is a version for the user.
func shown(v version) *tool.Version {
	if !v.Exists() {
		return nil
	}
	s := &tool.Version{Mode: v.Mode, Size: v.size, Digest: v.Digest}
	switch {
	case v.Mode&fs.ModeSymlink != 0:
		s.Raw, s.Text, s.Size, s.Digest = []byte(v.Link), []byte(v.Link), int64(len(v.Link)), blob.Digest([]byte(v.Link))
	case !v.Mode.IsRegular():
	case !v.held:
		s.Binary = true
	default:
		s.Raw = v.raw
		if text, err := textfile.Parse(v.raw); err == nil {
			s.Text = text.Bytes()
		} else {
			s.Binary = len(v.raw) > 0
		}
	}
	if v.Attrs != "" {
		s.Digest = blob.Digest([]byte(s.Digest + v.Attrs)) // they are part of what is approved
	}
	return s
}

const foldedGit = "git"

// folded is why nobody reads the change of a file; "" for one to read.
func folded(e *entry) string {
	name := filepath.Base(e.path)
	switch {
	case gitPart(e.path) != gitOther && !isProgram(e):
		return foldedGit
	case strings.HasSuffix(name, ".lock"), strings.HasSuffix(name, "-lock.json"), strings.HasSuffix(name, "-lock.yaml"), name == "go.sum", name == "npm-shrinkwrap.json":
		return "lock file"
	case strings.Contains(e.path, "/node_modules/"):
		return "installed"
	case isGenerated(e.before.raw) && e.before.Exists(), isGenerated(e.after.raw) && !e.before.Exists(), strings.HasSuffix(name, ".min.js"), strings.HasSuffix(name, ".map"):
		return "generated"
	}
	return ""
}

// isProgram reports whether a file that git does not run could be run: nothing of git's
// own is, but for the samples of hooks.
func isProgram(e *entry) bool {
	return e.after.Mode.IsRegular() && e.after.Mode&0o111 != 0 && !strings.HasSuffix(e.path, ".sample")
}

// isGenerated reports whether a text says of itself that a program wrote it. A file
// that only says so after the change is shown.
func isGenerated(raw []byte) bool {
	head := raw[:min(len(raw), 1024)]
	return bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT")) || bytes.Contains(head, []byte("@generated"))
}

// notes are what is told beside the files.
func (r *Result) notes(list []entry) []string {
	var notes []string
	for _, repo := range repositories(list) {
		notes = append(notes, repo.String())
	}
	if r.Copied != "" {
		notes = append(notes, "It ran in a copy of the folders, because "+r.Copied+".")
	}
	if len(r.Refused) > 0 {
		notes = append(notes, "It tried to reach "+Listed(r.Refused, 5)+", but could not.")
	}
	if len(r.Outside) > 0 {
		notes = append(notes, "It changed "+Listed(r.Outside, 5)+" outside the project; that is dropped.")
	}
	if len(r.LeftOut) > 0 {
		notes = append(notes, "Sockets and devices that it created are left out: "+Listed(r.LeftOut, 5)+".")
	}
	if r.Caches > 0 {
		notes = append(notes, fmt.Sprintf("It also wrote %s in caches; cache writes are dropped.", plural.Of(r.Caches, "file")))
	}
	return notes
}
