package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/haftdev/haft/internal/world/search"
)

const (
	sessionQueries = 100
	editEvery      = 5
	headLimit      = 250
)

// copyTree makes a copy that may be edited, with times kept.
func copyTree(dir string) (string, error) {
	tmp, err := os.MkdirTemp("", "haft-session-")
	if err != nil {
		return "", err
	}
	to := filepath.Join(tmp, filepath.Base(dir))
	if out, err := exec.Command("cp", "-a", dir, to).CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy %s: %w\n%s", dir, err, out)
	}
	return to, nil
}

// script makes up queries and edits from what the tree contains.
type script struct {
	dir   string
	rand  *rand.Rand
	files []string
	words []string
	text  int64
}

var (
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{5,24}`)
	source     = regexp.MustCompile(`\.(c|h|go|py|ts|js|rs|S)$`)
)

func newScript(dir string) (*script, error) {
	s := &script{dir: dir, rand: rand.New(rand.NewPCG(42, 1))}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if fi, err := d.Info(); err == nil && isText(path) {
			s.text += fi.Size()
		}
		if source.MatchString(path) {
			s.files = append(s.files, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for range 400 {
		text, err := os.ReadFile(s.files[s.rand.IntN(len(s.files))])
		if err != nil {
			return nil, err
		}
		if found := identifier.FindAll(text, 200); len(found) > 0 {
			s.words = append(s.words, string(found[s.rand.IntN(len(found))]))
		}
	}
	return s, nil
}

// isText looks for a NUL where ripgrep does.
func isText(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, 64<<10)
	n, _ := f.Read(b)
	return bytes.IndexByte(b[:n], 0) < 0
}

func (s *script) word() string { return s.words[s.rand.IntN(len(s.words))] }

// query draws one: literals mostly, then the shapes that agents use.
func (s *script) query() search.Query {
	q := search.Query{Dir: s.dir, Limit: headLimit, Mode: search.Content}
	w := s.word()
	switch n := s.rand.IntN(100); {
	case n < 30:
		q.Pattern = w
	case n < 50:
		q.Pattern, q.Mode = w, search.Files
	case n < 62:
		q.Pattern = `(func|static|struct|type|int|void)\s+\*?` + w
	case n < 69:
		q.Pattern = w + "|" + s.word()
	case n < 76:
		q.Pattern, q.IgnoreCase = w, true
	case n < 83:
		q.Pattern = `\b` + w + `\b`
	case n < 89:
		q.Pattern, q.Before, q.After = w, 3, 3
	case n < 94:
		q.Pattern = w[:len(w)/2+1] + `\w+\(`
	case n < 97:
		q.Pattern, q.Path = w, s.files[s.rand.IntN(len(s.files))]
	default:
		q.Pattern, q.Path = w, filepath.Dir(s.files[s.rand.IntN(len(s.files))])
	}
	return q
}

// edit has another process append to a file.
func (s *script) edit() error {
	f := s.files[s.rand.IntN(len(s.files))]
	line := fmt.Sprintf("// %s %s edited", s.word(), s.word())
	return exec.Command("sh", "-c", `printf '%s\n' "$1" >> "$2"`, "sh", line, f).Run()
}

// sample copies n files of the tree into dir.
func (s *script) sample(dir string, n int) error {
	for i := range n {
		text, err := os.ReadFile(s.files[s.rand.IntN(len(s.files))])
		if err != nil {
			return err
		}
		path := filepath.Join(dir, fmt.Sprintf("d%d", i%10), fmt.Sprintf("f%d.c", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
