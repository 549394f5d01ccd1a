package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/haftdev/haft/internal/search/rawfs"
	"github.com/haftdev/haft/search"
)

// globs measures finding files by name. Ripgrep's side is the call that Claude Code
// 2.1.325 makes by default: all files, ignored and hidden ones too, sorted by
// modification time, which ripgrep does on one thread.
func (b *bench) globs(ctx context.Context) error {
	var floor samples
	for range 2 * b.rounds {
		if err := floor.add(func() error { readTree(b.dir, false); return nil }); err != nil {
			return err
		}
	}
	c := floor.median()
	fmt.Fprintf(b.out, "Reading every directory and nothing else, one thread: wall %s ms, CPU %s ms\n\n", ms(c.wall), ms(c.cpu))
	fmt.Fprintf(b.out, "| pattern | rg wall / CPU, ms | rg with ignore rules, unsorted | directories alone | first | list after, CPU ms | first, prepared | kept | files |\n|---|---|---|---|---|---|---|---|---|\n")
	kept := search.New(nil)
	defer kept.Close()
	kept.Prepare(b.dir)
	kept.WaitIndexed()
	for _, p := range []string{"**/*.h", "**/Makefile", "**/*ext4*", "fs/**/*.c", "**/*_test.go", "src/**/*.go", "**/*.{s,S}"} {
		if !strings.Contains(p, b.only) {
			continue
		}
		if err := b.glob(ctx, p, kept, c); err != nil {
			return err
		}
	}
	return nil
}

// glob measures one pattern; floor is what reading the directories costs.
func (b *bench) glob(ctx context.Context, pattern string, kept *search.Searcher, floor cost) error {
	var rg, unsorted, first, after, prepared, warm samples
	var want answer
	differs := 0
	spawn := func(args ...string) (answer, error) {
		args = append([]string{"--files", "--hidden", "--glob", pattern}, args...)
		return output(exec.Command(b.rg, append(args, b.dir)...), b.dir)
	}
	for range b.rounds {
		runtime.GC() // what earlier rounds left is not this one's
		if err := rg.add(func() error { _, err := spawn("--null", "--sort=modified", "--no-ignore"); return err }); err != nil {
			return err
		}
		// The same files as ours, to compare with.
		if err := unsorted.add(func() (err error) { want, err = spawn("--no-config", "--glob", "!.git"); return err }); err != nil {
			return err
		}
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
	fmt.Fprintf(b.out, "| `%s` | %s / %s | %s / %s | %s | %s | %s | %s | %s | %d%s |\n", strings.ReplaceAll(pattern, "|", `\|`), ms(c.wall), ms(c.cpu), ms(u.wall), ms(u.cpu),
		ratio(c, floor), ratio(c, first.median()), ms(after.median().cpu), ratio(c, prepared.median()), ratio(c, warm.median()), len(want), note)
	return nil
}

// readTree is the least that a walk can do, and with files a search: it opens, reads
// and closes.
func readTree(root string, files bool) {
	entries, text := make([]byte, 64<<10), make([]byte, 128<<10)
	for queue := []string{root}; len(queue) > 0; {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		f, err := rawfs.OpenDir(dir)
		if err != nil {
			continue
		}
		var paths []string
		err = f.List(entries, func(e *rawfs.Entry) {
			if e.Kind == rawfs.Directory && string(e.Name) != ".git" {
				queue = append(queue, dir+"/"+string(e.Name))
			} else if files && e.Kind == rawfs.Regular {
				paths = append(paths, dir+"/"+string(e.Name)+"\x00")
			}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, dir, err)
		}
		f.Close()
		for _, p := range paths {
			readFile(p, text)
		}
	}
}

// readFile reads a file, whose path ends with a NUL byte, and forgets it.
func readFile(path string, buf []byte) {
	f, err := rawfs.Open([]byte(path), false)
	if err != nil {
		return
	}
	defer f.Close()
	for n := len(buf); n == len(buf); {
		if n, err = f.Read(buf); err != nil {
			return
		}
	}
}
