package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/haftdev/haft/search"
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
