package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// A hasher finds the files of a project that items name. It hashes each once and
// stops hashing when it has read enough: a project decides what there is to read.
type hasher struct {
	root    *os.Root // nil if it cannot be opened: there are no files then
	base    string   // the root's path
	project string
	sums    map[string]string // by path below the root; "" is no file
	budget  int64             // bytes

	// skips reports whether the files that a program finds by itself are left out; nil leaves out
	// none.
	skips func(program string) bool
	opens int
}

func (h *hasher) close() {
	if h.root != nil {
		h.root.Close()
	}
}

// content returns the hashes of the files that texts name, such as the script in
// "bash .claude/check.sh", by their paths below the root. A script that changes
// is as good as another command.
func (h *hasher) content(texts []string) map[string]string {
	var found map[string]string
	for _, text := range texts {
		for _, path := range paths(text, h.project) {
			name, ok := pathin.Below(h.base, path)
			if !ok || name == "" || h.root == nil {
				continue
			}
			if sum := h.sum(name); sum != "" {
				if found == nil {
					found = map[string]string{}
				}
				found[filepath.ToSlash(name)] = sum
			}
		}
	}
	return found
}

// paths returns what in a text may be a path, from the project.
func paths(text, project string) []string {
	for _, name := range []string{"CLAUDE_PROJECT_DIR", "HAFT_PROJECT_DIR"} {
		text = strings.NewReplacer("${"+name+"}", project, "$"+name, project).Replace(text)
	}
	all := strings.FieldsFunc(strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(text), func(r rune) bool {
		return strings.ContainsRune(" \t\r\n;&|<>()=,`", r)
	})
	all = append(all, text) // an argument of a server may be a path with blanks
	for i, w := range all {
		if !filepath.IsAbs(w) {
			all[i] = filepath.Join(project, w)
		}
	}
	return all
}

// sum returns the hash of a file, or "" if there is no regular file of the name.
func (h *hasher) sum(name string) string {
	sum, known := h.sums[name]
	if !known && h.opens > 0 {
		h.opens--
		sum = h.read(name)
		h.sums[name] = sum
	}
	return sum
}

func (h *hasher) read(name string) string {
	file, err := h.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if info.Size() > h.budget {
		return fmt.Sprintf("too large: %d bytes of %s", info.Size(), info.ModTime().UTC())
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, h.budget))
	h.budget -= n
	if err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// bind adds to files the hashes of those that a command names or runs, with the values of
// variables that it takes from the environment, and returns what cannot be bound.
func (h *hasher) bind(command string, files map[string]string) (unbound string) {
	b := h.newBinder()
	b.command(command)
	maps.DeleteFunc(files, func(name, _ string) bool { return b.written[name] })
	maps.Copy(files, b.found)
	return b.unbound
}

func (h *hasher) newBinder() *binder {
	b := &binder{h: h, dirs: []string{h.project}, found: make(map[string]string), written: make(map[string]bool)}
	if h.base != h.project {
		b.dirs = append(b.dirs, h.base)
	}
	return b
}
