package search

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// BenchmarkFirstQuestion is the first Grep and Glob of a session about HAFT_BENCH_TREE, which defaults to
// the Go tree, with what an earlier session has saved of it.
func BenchmarkFirstQuestion(b *testing.B) {
	dir := os.Getenv("HAFT_BENCH_TREE")
	if dir == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			b.Skip(err)
		}
		dir = strings.TrimSpace(string(out))
	}
	o := &Options{Saved: b.TempDir()}
	s := New(o)
	if _, err := s.Grep(b.Context(), Query{Dir: dir, Pattern: "no such words"}); err != nil {
		b.Fatal(err)
	}
	s.WaitIndexed()
	s.Close()
	for name, ask := range map[string]func(*Searcher) error{
		"Grep": func(s *Searcher) error {
			_, err := s.Grep(b.Context(), Query{Dir: dir, Pattern: "no such words"})
			return err
		},
		"Glob": func(s *Searcher) error {
			_, err := s.Glob(b.Context(), GlobQuery{Dir: dir, Pattern: "**/*_test.go"})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := New(o)
				if err := ask(s); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				s.Close()
				b.StartTimer()
			}
		})
	}
}
