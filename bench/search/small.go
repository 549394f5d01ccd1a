package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

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
	fmt.Fprintf(b.out, "| files | pattern | rg wall / CPU, ms | reading alone | first | stateless | kept | first, least of each |\n|---|---|---|---|---|---|---|---|\n")
	for _, n := range []int{1, 10, 100, 1000} {
		if b.only != "" && b.only != fmt.Sprint(n) {
			continue
		}
		var dirs []string
		for i := range smallSamples {
			dir := filepath.Join(tmp, fmt.Sprintf("%d-%d", n, i))
			if err := script.sample(dir, n); err != nil {
				return err
			}
			dirs = append(dirs, dir)
		}
		for _, pattern := range []string{"mutex_lock|Errorf", `static int \w+\(|func \w+\(`} {
			if err := b.smallTrees(ctx, dirs, n, pattern); err != nil {
				return err
			}
		}
	}
	return nil
}

// smallSamples is how many directories of each size are measured: a single one may
// happen to hold a file of megabytes.
const smallSamples = 5

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

// smallTrees measures a pattern in directories of n files.
func (b *bench) smallTrees(ctx context.Context, dirs []string, n int, pattern string) error {
	var c smallCosts
	for _, dir := range dirs {
		if err := b.smallTree(ctx, dir, pattern, &c); err != nil {
			return err
		}
	}
	rg := c.rg.median()
	fmt.Fprintf(b.out, "| %d | `%s` | %s / %s | %s | %s | %s | %s | %s |\n", n, strings.ReplaceAll(pattern, "|", `\|`), ms(rg.wall), ms(rg.cpu),
		ratio(rg, c.floor.median()), ratio(rg, c.first.median()), ratio(rg, c.stateless.median()), ratio(rg, c.kept.median()), ratio(c.rg.least(), c.first.least()))
	return nil
}

type smallCosts struct{ rg, floor, first, stateless, kept samples }

// smallTree asks four: ripgrep, a searcher that was never asked before, one without
// memory and one that keeps what it knows.
func (b *bench) smallTree(ctx context.Context, dir, pattern string, c *smallCosts) error {
	q := search.Query{Dir: dir, Pattern: pattern, Mode: search.Content}
	stateless, kept := search.New(&search.Options{Stateless: true}), search.New(nil)
	defer stateless.Close()
	defer kept.Close()
	for range 3 * b.rounds {
		runtime.GC() // what earlier rounds left is not this one's
		// What reads the files and nothing else comes right after ripgrep, as a first query does.
		spawn := func() error { _, err := runRg(b.rg, dir, q); return err }
		if err := c.rg.add(spawn); err != nil {
			return err
		}
		c.floor.add(func() error { readTree(dir, true); return nil })
		if err := c.rg.add(spawn); err != nil {
			return err
		}
		fresh := search.New(nil)
		for _, v := range []struct {
			s     *search.Searcher
			costs *samples
		}{{fresh, &c.first}, {stateless, &c.stateless}, {kept, &c.kept}} {
			if err := v.costs.add(func() error { _, err := v.s.Grep(ctx, q); return err }); err != nil {
				return err
			}
			v.s.WaitIndexed()
		}
		fresh.Close()
	}
	return nil
}
