package permission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

// BenchmarkHeld is what a command pays for ten rules about paths in a project of 50,000 files:
// the files are found once, and watched. Each command here writes a file.
func BenchmarkHeld(b *testing.B) {
	p := newRealPlace(b)
	for i := range 50_000 {
		dir := filepath.Join(p.dir, fmt.Sprint("d", i%50), fmt.Sprint("e", i%1000))
		if i < 1000 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	var rules []permission.Rule
	for _, text := range []string{"Read(./secrets/**)", "Read(**/*.key)", "Read(**/.env*)", "Read(private.txt)", "Read(d1/e1/**)", "Edit(./protected/**)", "Edit(**/*.lock)", "Edit(d2/**)", "Edit(Makefile)"} {
		rules = append(rules, rule(tool.Deny, text))
	}
	policy := heldPolicy(b, p, "Edit(**/*.golden)", permission.Options{Rules: rules})
	if _, err := policy.Held(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		if err := os.WriteFile(filepath.Join(p.dir, "d3", fmt.Sprint("new", b.N)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if held, err := policy.Held(); err != nil || len(held.Fixed) != 1 {
			b.Fatal(len(held.Fixed), err)
		}
	}
}
