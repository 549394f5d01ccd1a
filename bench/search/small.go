package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/haftdev/haft/search"
)

// small measures directories of a few files, cut from the tree: there the start of a
// process is most of what ripgrep costs.
func (b *bench) small(ctx context.Context) error {
	script, err := newScript(b.dir)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "haft-small-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fmt.Fprintf(b.out, "| files | pattern | rg wall / CPU, ms | first | stateless | kept |\n|---|---|---|---|---|---|\n")
	for _, n := range []int{1, 10, 100, 1000} {
		dir := filepath.Join(tmp, fmt.Sprint(n))
		if err := script.sample(dir, n); err != nil {
			return err
		}
		for _, pattern := range []string{"mutex_lock|Errorf", `static int \w+\(|func \w+\(`} {
			if err := b.smallTree(ctx, dir, n, pattern); err != nil {
				return err
			}
		}
	}
	return nil
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

// smallTree asks four: ripgrep, a searcher that was never asked before, one without
// memory and one that keeps what it knows.
func (b *bench) smallTree(ctx context.Context, dir string, n int, pattern string) error {
	q := search.Query{Dir: dir, Pattern: pattern, Mode: search.Content}
	stateless, kept := search.New(&search.Options{Stateless: true}), search.New(nil)
	defer stateless.Close()
	defer kept.Close()
	var rg, first, walked, warm samples
	for range 15 * b.rounds {
		if err := rg.add(func() error { _, err := runRg(b.rg, dir, q); return err }); err != nil {
			return err
		}
		runtime.GC() // what earlier rounds left is not this one's
		fresh := search.New(nil)
		for _, v := range []struct {
			s     *search.Searcher
			costs *samples
		}{{fresh, &first}, {stateless, &walked}, {kept, &warm}} {
			if err := v.costs.add(func() error { _, err := v.s.Grep(ctx, q); return err }); err != nil {
				return err
			}
			v.s.WaitIndexed()
		}
		fresh.Close()
	}
	c := rg.median()
	fmt.Fprintf(b.out, "| %d | `%s` | %s / %s | %s | %s | %s |\n", n, pattern, ms(c.wall), ms(c.cpu),
		ratio(c, first.median()), ratio(c, walked.median()), ratio(c, warm.median()))
	return nil
}
