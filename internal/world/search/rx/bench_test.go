package rx

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkThroughput searches Go source held in memory, in pieces of the size of
// files.
func BenchmarkThroughput(b *testing.B) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip(err)
	}
	var text bytes.Buffer
	filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".go") && text.Len() < 32<<20 {
			src, _ := os.ReadFile(p)
			text.Write(src)
		}
		return nil
	})
	for _, expr := range []string{
		"runtime_pollUnblock", "TODO|FIXME", "Marshal|Unlock|Sprintf|Errorf|kmalloc|vmalloc|ReadAll|Getenv",
		"(?i)nosuchhost", `\b(Printf|Sprintf)\b`, `func \w+_test\(`, `[A-Z]{5,}_[0-9]{4,}`, `0x[0-9a-fA-F]{8}\b`, `\w{30,}`, `[ \t]+$`,
	} {
		p, err := Compile(expr, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(expr, func(b *testing.B) {
			m := p.Matcher()
			defer p.Release(m)
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				for rest := text.Bytes(); len(rest) > 0; {
					n := min(len(rest), 1<<16)
					n += bytes.IndexByte(rest[n-1:], '\n')
					m.Reset(rest[:n])
					for _, _, ok := m.Next(); ok; _, _, ok = m.Next() {
					}
					rest = rest[n:]
				}
			}
		})
	}
}
