package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/haftdev/haft/search"
)

const (
	sessionQueries = 100
	editEvery      = 5
	headLimit      = 250
)

// session plays a conversation: queries about identifiers of the tree, with a file
// edited by another process before every fifth. Ripgrep answers each right after.
// Indexing is waited for within our own time: left to the background it would run,
// and be counted, while ripgrep is measured.
func (b *bench) session(ctx context.Context) error {
	dir, err := copyTree(b.dir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(dir))
	script, err := newScript(dir)
	if err != nil {
		return err
	}
	opts := &search.Options{}
	if !b.texts {
		opts.CacheBytes = -1
	}
	s := search.New(opts)
	defer s.Close()
	var rgTotal, ours cost
	var rgWalls, walls []time.Duration
	wrong, compared := 0, 0
	for i := range sessionQueries {
		if i%editEvery == editEvery-1 {
			if err := script.edit(); err != nil {
				return err
			}
		}
		q := script.query()
		var r *search.Result
		var want answer
		ask := func() error {
			r, err = s.Grep(ctx, q)
			s.WaitIndexed()
			return err
		}
		askRg := func() error { want, err = runRg(b.rg, dir, q); return err }
		c, err := measure(ask)
		if err != nil {
			return fmt.Errorf("%+v: %w", q, err)
		}
		c2, err := measure(askRg)
		if err != nil {
			return err
		}
		ours, rgTotal = ours.plus(c), rgTotal.plus(c2)
		walls, rgWalls = append(walls, c.wall), append(rgWalls, c2.wall)
		if !r.More {
			compared++
			if n := differ(want, format(q, r)); n > 0 {
				wrong++
				fmt.Fprintf(b.out, "differs by %d: %+v\n", n, q)
			}
		}
	}
	m := s.Memory()
	fmt.Fprintf(b.out, "%d queries, %d edits from outside; %d answers that were not cut short compared, %d differ\n", sessionQueries, sessionQueries/editEvery, compared, wrong)
	fmt.Fprintf(b.out, "rg: wall %s ms, CPU %s ms, p50 %s ms\n", ms(rgTotal.wall), ms(rgTotal.cpu), ms(median(rgWalls)))
	fmt.Fprintf(b.out, "haft: wall %s ms, CPU %s ms (first query, watches and index included), p50 %s ms\n", ms(ours.wall), ms(ours.cpu), ms(median(walls)))
	fmt.Fprintf(b.out, "ratio: CPU %s, wall %s, p50 %s\n", times(rgTotal.cpu, ours.cpu), times(rgTotal.wall, ours.wall), times(median(rgWalls), median(walls)))
	fmt.Fprintf(b.out, "memory: list %.1f MB, signatures %.1f MB: %.1f %% of %.0f MB of text; cached texts %.1f MB\n",
		float64(m.List)/1e6, float64(m.Signatures)/1e6, 100*float64(m.List+m.Signatures)/float64(script.text), float64(script.text)/1e6, float64(m.Texts)/1e6)
	return nil
}

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
