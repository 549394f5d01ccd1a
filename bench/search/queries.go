package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

type bench struct {
	rg, dir string
	rounds  int
	only    string
	texts   bool
	out     io.Writer

	stateless bool
}

// variant is one way to answer.
type variant struct {
	name string
	opts search.Options
	s    *search.Searcher
}

func (b *bench) variants() []*variant {
	vs := []*variant{
		{name: "stateless", opts: search.Options{Stateless: true}},
		{name: "list", opts: search.Options{NoIndex: true, CacheBytes: -1}},
		{name: "index", opts: search.Options{CacheBytes: -1}},
		{name: "index, no watch", opts: search.Options{NoWatch: true, CacheBytes: -1}},
		{name: "all", opts: search.Options{}},
	}
	if b.stateless {
		vs = vs[:1]
	}
	for _, v := range vs {
		v.s = search.New(&v.opts)
	}
	return vs
}

func closeAll(vs []*variant) {
	for _, v := range vs {
		v.s.Close()
	}
}

type named struct {
	name string
	q    search.Query
}

// suite has queries for each kind of pattern. Those that name things are chosen per
// tree, so that they are rare or common there.
func suite(dir string) []named {
	rare, mid, common, def, single, subdir := "vmpressure_prio", "schedule_timeout_interruptible", "mutex_lock", `static int \w+_probe\(`, "kernel/fork.c", "kernel/sched"
	ext := "*.c"
	if !strings.Contains(dir, "linux") {
		rare, mid, common, def, single, subdir = "runtime_pollUnblock", "errNoSuchHost", "Errorf", `func \(\w+ \*Reader\) Read`, "src/net/http/server.go", "src/net/http"
		ext = "*_test.go"
	}
	files, content, count := search.Files, search.Content, search.Count
	return []named{
		{"rare literal -l", search.Query{Pattern: rare, Mode: files}},
		{"rare literal", search.Query{Pattern: rare, Mode: content}},
		{"mid literal", search.Query{Pattern: mid, Mode: content}},
		{"common literal -l", search.Query{Pattern: common, Mode: files}},
		{"common literal -l head 250", search.Query{Pattern: common, Mode: files, Limit: 250}},
		{"common literal head 100", search.Query{Pattern: common, Mode: content, Limit: 100}},
		{"common literal -c", search.Query{Pattern: common, Mode: count}},
		{"no match, literal", search.Query{Pattern: "zzqx_never_there", Mode: files}},
		{"no match, regexp", search.Query{Pattern: `zzqx_\d{7}_there`, Mode: files}},
		{"-i literal", search.Query{Pattern: strings.ToUpper(mid), IgnoreCase: true, Mode: content}},
		{"TODO|FIXME", search.Query{Pattern: "TODO|FIXME", Mode: content}},
		{"word alternation -l", search.Query{Pattern: `\b(kmalloc|kzalloc|Printf|Sprintf)\b`, Mode: files}},
		{"8 literals -c", search.Query{Pattern: "kmalloc|kzalloc|kcalloc|vmalloc|kvfree|Marshal|Unlock|Sprintf", Mode: count}},
		{"definition", search.Query{Pattern: def, Mode: content}},
		{"a.*b", search.Query{Pattern: `return.*err.*nil`, Mode: content}},
		{"anchored ^", search.Query{Pattern: `^(SYSCALL_DEFINE|func Benchmark)\w*\(`, Mode: content}},
		{"^}$ -c", search.Query{Pattern: `^\}$`, Mode: count}},
		{"trailing space -l", search.Query{Pattern: `[ \t]+$`, Mode: files}},
		{"hex class -c", search.Query{Pattern: `0x[0-9a-fA-F]{8}\b`, Mode: count}},
		{"classes -c", search.Query{Pattern: `[A-Z]{5,}_[0-9]{4,}`, Mode: count}},
		{"long words -l", search.Query{Pattern: `\w{30,}`, Mode: files}},
		{"context 3", search.Query{Pattern: mid, Mode: content, Before: 3, After: 3}},
		{"glob " + ext, search.Query{Pattern: common, Mode: files, Globs: []string{ext}}},
		{"single directory", search.Query{Pattern: common, Mode: content, Path: dir + "/" + subdir}},
		{"single file", search.Query{Pattern: common, Mode: content, Path: dir + "/" + single}},
		{"multiline", search.Query{Pattern: `return nil\n\}|return 0;\n\}\n\nEXPORT`, Multiline: true, Mode: files}},
		{"Unicode literal", search.Query{Pattern: "日本", Mode: content}},
		{"two bytes -c", search.Query{Pattern: "->", Mode: count}},
	}
}

// queries measures each query of the suite on its own.
func (b *bench) queries(ctx context.Context) error {
	vs := b.variants()
	defer closeAll(vs)
	for _, v := range vs { // a first query, so that set-up is not in the figures
		c, err := measure(func() error {
			_, err := v.s.Grep(ctx, search.Query{Dir: b.dir, Pattern: "zzqx_first_query"})
			return err
		})
		if err != nil {
			return err
		}
		rest, _ := measure(func() error { v.s.WaitIndexed(); return nil })
		m := v.s.Memory()
		fmt.Fprintf(b.out, "- %s: first query CPU %s ms, wall %s ms; index CPU %s ms; list %.1f MB, signatures %.1f MB, texts %.1f MB\n",
			v.name, ms(c.cpu), ms(c.wall), ms(rest.cpu), float64(m.List)/1e6, float64(m.Signatures)/1e6, float64(m.Texts)/1e6)
	}
	fmt.Fprintf(b.out, "\n| query | rg wall / CPU, ms |")
	for _, v := range vs {
		fmt.Fprintf(b.out, " %s |", v.name)
	}
	fmt.Fprintf(b.out, " lines |\n|---|---|%s---|\n", strings.Repeat("---|", len(vs)))
	ratios := map[string][]float64{}
	for _, n := range suite(b.dir) {
		if strings.Contains(n.name, b.only) {
			if err := b.query(ctx, n, vs, ratios); err != nil {
				return err
			}
		}
	}
	for _, v := range vs {
		fmt.Fprintf(b.out, "\n%s: %s", v.name, summary(ratios[v.name]))
	}
	fmt.Fprintln(b.out)
	return nil
}

func summary(rs []float64) string {
	if len(rs) == 0 {
		return "none"
	}
	slices.Sort(rs)
	logs, under := 0.0, 0
	for _, r := range rs {
		logs += math.Log(r)
		if r < 1 {
			under++
		}
	}
	return fmt.Sprintf("CPU ratio median %.1f, geometric mean %.1f, least %.2f, below 1 in %d of %d",
		rs[len(rs)/2], math.Exp(logs/float64(len(rs))), rs[0], under, len(rs))
}

func (b *bench) query(ctx context.Context, n named, vs []*variant, ratios map[string][]float64) error {
	n.q.Dir = b.dir
	var rg samples
	ours := make([]samples, len(vs))
	var want answer
	differs := make([]int, len(vs))
	for range b.rounds {
		if err := rg.add(func() (err error) { want, err = runRg(b.rg, b.dir, n.q); return err }); err != nil {
			return err
		}
		for i, v := range vs {
			var r *search.Result
			if err := ours[i].add(func() (err error) { r, err = v.s.Grep(ctx, n.q); return err }); err != nil {
				return err
			}
			if n.q.Limit == 0 {
				differs[i] = differ(want, format(n.q, r))
			}
		}
	}
	rgCost := rg.median()
	fmt.Fprintf(b.out, "| %s | %s / %s |", strings.ReplaceAll(n.name, "|", `\|`), ms(rgCost.wall), ms(rgCost.cpu))
	for i, v := range vs {
		c := ours[i].median()
		fmt.Fprintf(b.out, " %s", ratio(rgCost, c))
		if differs[i] > 0 {
			fmt.Fprintf(b.out, " **%d differ**", differs[i])
		}
		fmt.Fprint(b.out, " |")
		ratios[v.name] = append(ratios[v.name], float64(rgCost.cpu)/float64(max(c.cpu, 1000)))
	}
	fmt.Fprintf(b.out, " %d |\n", len(want))
	return nil
}

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

// ratio writes how many times less c took than base: CPU, and wall in parentheses.
func ratio(base, c cost) string {
	return fmt.Sprintf("%s (%s)", times(base.cpu, c.cpu), times(base.wall, c.wall))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }

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
