package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/haftdev/haft/search"
)

// globs measures finding files by name. Ripgrep's side is what a harness runs:
// --files with a glob, sorted by modification time.
func (b *bench) globs(ctx context.Context) error {
	vs := variants()[:2]
	defer closeAll(vs)
	patterns := []string{"**/*.h", "**/Makefile", "**/*ext4*", "fs/**/*.c", "**/*_test.go", "src/**/*.go", "**/*.{s,S}"}
	for _, v := range vs {
		if _, err := v.s.Glob(ctx, search.GlobQuery{Dir: b.dir, Pattern: "first"}); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "| pattern | rg wall / CPU, ms | %s | %s | files |\n|---|---|---|---|---|\n", vs[0].name, vs[1].name)
	for _, p := range patterns {
		rgCost, costs := never, slices.Repeat([]cost{never}, len(vs))
		var want answer
		differs := 0
		for range b.rounds {
			c, err := measure(func() (err error) {
				want, err = output(exec.Command(b.rg, "--no-config", "--files", "--hidden", "--glob", "!.git", "--glob", p, "--sort=modified", b.dir), b.dir)
				return err
			})
			if err != nil {
				return err
			}
			rgCost = rgCost.least(c)
			for i, v := range vs {
				var r *search.GlobResult
				c, err := measure(func() (err error) {
					r, err = v.s.Glob(ctx, search.GlobQuery{Dir: b.dir, Pattern: p})
					return err
				})
				if err != nil {
					return err
				}
				costs[i] = costs[i].least(c)
				differs = max(differs, differ(want, r.Files))
			}
		}
		note := ""
		if differs > 0 {
			note = fmt.Sprintf(" **%d differ**", differs)
		}
		fmt.Fprintf(b.out, "| `%s` | %s / %s | %s | %s | %d%s |\n", strings.ReplaceAll(p, "|", `\|`), ms(rgCost.wall), ms(rgCost.cpu), ratio(rgCost, costs[0]), ratio(rgCost, costs[1]), len(want), note)
	}
	return nil
}
