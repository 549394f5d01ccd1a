package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/haftdev/haft/search"
	"github.com/haftdev/haft/search/rawfs"
)

// globs measures finding files by name. Ripgrep's side is what a harness runs:
// --files with a glob, sorted by modification time.
func (b *bench) globs(ctx context.Context) error {
	var floor samples
	for range 2 * b.rounds {
		if err := floor.add(func() error { readDirs(b.dir); return nil }); err != nil {
			return err
		}
	}
	c := floor.median()
	fmt.Fprintf(b.out, "Reading every directory and nothing else, one thread: wall %s ms, CPU %s ms\n\n", ms(c.wall), ms(c.cpu))
	fmt.Fprintf(b.out, "| pattern | rg unsorted wall / CPU, ms | rg wall / CPU, ms | first | list after, CPU ms | first, prepared | kept | files |\n|---|---|---|---|---|---|---|---|\n")
	kept := search.New(nil)
	defer kept.Close()
	kept.Prepare(b.dir)
	kept.WaitIndexed()
	for _, p := range []string{"**/*.h", "**/Makefile", "**/*ext4*", "fs/**/*.c", "**/*_test.go", "src/**/*.go", "**/*.{s,S}"} {
		if !strings.Contains(p, b.only) {
			continue
		}
		if err := b.glob(ctx, p, kept); err != nil {
			return err
		}
	}
	return nil
}

// glob measures one pattern.
func (b *bench) glob(ctx context.Context, pattern string, kept *search.Searcher) error {
	var unsorted, rg, first, after, prepared, warm samples
	var want answer
	differs := 0
	spawn := func(more ...string) (answer, error) {
		args := append([]string{"--no-config", "--files", "--hidden", "--glob", "!.git", "--glob", pattern}, more...)
		return output(exec.Command(b.rg, append(args, b.dir)...), b.dir)
	}
	for range b.rounds {
		if err := unsorted.add(func() error { _, err := spawn(); return err }); err != nil {
			return err
		}
		if err := rg.add(func() (err error) { want, err = spawn("--sort=modified"); return err }); err != nil {
			return err
		}
		runtime.GC() // what earlier rounds left is not this one's
		fresh, ready := search.New(nil), search.New(nil)
		ready.Prepare(b.dir)
		ready.WaitIndexed()
		for _, v := range []struct {
			s     *search.Searcher
			costs *samples
		}{{kept, &warm}, {ready, &prepared}, {fresh, &first}} {
			var r *search.GlobResult
			err := v.costs.add(func() (err error) {
				r, err = v.s.Glob(ctx, search.GlobQuery{Dir: b.dir, Pattern: pattern})
				return err
			})
			if err != nil {
				return err
			}
			differs = max(differs, differ(want, r.Files))
		}
		after.add(func() error { fresh.WaitIndexed(); return nil })
		fresh.Close()
		ready.Close()
	}
	note := ""
	if differs > 0 {
		note = fmt.Sprintf(" **%d differ**", differs)
	}
	u, c := unsorted.median(), rg.median()
	fmt.Fprintf(b.out, "| `%s` | %s / %s | %s / %s | %s | %s | %s | %s | %d%s |\n", strings.ReplaceAll(pattern, "|", `\|`), ms(u.wall), ms(u.cpu), ms(c.wall), ms(c.cpu),
		ratio(c, first.median()), ms(after.median().cpu), ratio(c, prepared.median()), ratio(c, warm.median()), len(want), note)
	return nil
}

// readDirs is the least that a walk can do: it opens, lists and closes.
func readDirs(root string) {
	buf := make([]byte, 64<<10)
	for queue := []string{root}; len(queue) > 0; {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		f, err := rawfs.OpenDir(dir)
		if err != nil {
			continue
		}
		err = f.List(buf, func(e *rawfs.Entry) {
			if e.Kind == rawfs.Directory && string(e.Name) != ".git" {
				queue = append(queue, dir+"/"+string(e.Name))
			}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, dir, err)
		}
		f.Close()
	}
}
