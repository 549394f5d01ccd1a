package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/haftdev/haft/search"
)

// next measures the first question of a session about a tree that an earlier session has
// searched: what was saved is read, and proved current, within its time.
func (b *bench) next(ctx context.Context) error {
	saved, err := os.MkdirTemp("", "haft-saved-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(saved)
	o := search.Options{Saved: saved}
	earlier := search.New(&o)
	if _, err := earlier.Grep(ctx, search.Query{Dir: b.dir, Pattern: "never mind what"}); err != nil {
		return err
	}
	earlier.WaitIndexed()
	earlier.Close()
	m, _ := filepath.Glob(filepath.Join(saved, "*"))
	for _, path := range m {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(b.out, "Saved: %.1f MB\n\n", float64(info.Size())/(1<<20))
		}
	}
	fmt.Fprintf(b.out, "| first question | rg wall / CPU, ms | nothing saved | saved | find wall / CPU, ms | saved, to find |\n|---|---|---|---|---|---|\n")
	for _, p := range []string{"schedule_timeout_killable|runtime_pollSetDeadline", "no such words", `panic\("`, "TODO|FIXME", `^SYSCALL_DEFINE\d\(|^func Test\w+Deadline`} {
		if strings.Contains(p, b.only) {
			if err := b.nextGrep(ctx, p, &o); err != nil {
				return err
			}
		}
	}
	for _, p := range []string{"**/*.h", "**/Makefile", "**/*ext4*", "**/*_test.go", "**/*.{s,S}"} {
		if strings.Contains(p, b.only) {
			if err := b.nextGlob(ctx, p, &o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) nextGrep(ctx context.Context, pattern string, o *search.Options) error {
	var rg, cold, saved samples
	var want answer
	q := search.Query{Dir: b.dir, Pattern: pattern, Mode: search.Content}
	differs := 0
	for range b.rounds {
		runtime.GC() // what earlier rounds left is not this one's
		if err := rg.add(func() (err error) { want, err = runRg(b.rg, b.dir, q); return err }); err != nil {
			return err
		}
		for _, v := range []struct {
			s     *search.Searcher
			costs *samples
		}{{search.New(&search.Options{NoIndex: true}), &cold}, {search.New(o), &saved}} {
			var r *search.Result
			if err := v.costs.add(func() (err error) { r, err = v.s.Grep(ctx, q); return err }); err != nil {
				return err
			}
			differs = max(differs, differ(want, format(q, r)))
			v.s.WaitIndexed()
			v.s.Close()
		}
	}
	b.nextRow("Grep `"+strings.ReplaceAll(pattern, "|", `\|`)+"`", rg, cold, saved, nil, differs)
	return nil
}

func (b *bench) nextGlob(ctx context.Context, pattern string, o *search.Options) error {
	var rg, find, cold, saved samples
	var want answer
	differs := 0
	spawn := func(args ...string) (answer, error) {
		args = append([]string{"--files", "--hidden", "--glob", pattern}, args...)
		return output(exec.Command(b.rg, append(args, b.dir)...), b.dir)
	}
	for range b.rounds {
		runtime.GC()
		var err error
		if want, err = spawn("--no-config", "--glob", "!.git"); err != nil {
			return err
		}
		if err := rg.add(func() error { _, err := spawn("--null", "--sort=modified", "--no-ignore"); return err }); err != nil {
			return err
		}
		if err := find.add(func() error {
			_, err := exec.Command("find", b.dir, "-name", ".git", "-prune", "-o", "-type", "f", "-name", filepath.Base(pattern), "-printf", "%T@ %p\n").Output()
			return err
		}); err != nil {
			return err
		}
		for _, v := range []struct {
			s     *search.Searcher
			costs *samples
		}{{search.New(nil), &cold}, {search.New(o), &saved}} {
			var r *search.GlobResult
			if err := v.costs.add(func() (err error) {
				r, err = v.s.Glob(ctx, search.GlobQuery{Dir: b.dir, Pattern: pattern})
				return err
			}); err != nil {
				return err
			}
			differs = max(differs, differ(want, r.Files))
			v.s.WaitIndexed()
			v.s.Close()
		}
	}
	b.nextRow("Glob `"+pattern+"`", rg, cold, saved, find, differs)
	return nil
}

func (b *bench) nextRow(name string, rg, cold, saved, find samples, differs int) {
	note, found := "", " | |"
	if differs > 0 {
		note = fmt.Sprintf(" **%d differ**", differs)
	}
	c := rg.median()
	if find != nil {
		f := find.median()
		found = fmt.Sprintf(" %s / %s | %s |", ms(f.wall), ms(f.cpu), ratio(f, saved.median()))
	}
	fmt.Fprintf(b.out, "| %s%s | %s / %s | %s | %s |%s\n", name, note, ms(c.wall), ms(c.cpu), ratio(c, cold.median()), ratio(c, saved.median()), found)
}
