package search_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/world/search"
)

func ExampleSearcher_Grep() {
	dir, err := os.MkdirTemp("", "tree-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"a.go": "package a // TODO\n", "b.go": "package b\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	s := search.New(nil)
	defer s.Close()
	found, err := s.Grep(context.Background(), search.Query{Pattern: `\bTODO\b`, Dir: dir})
	if err != nil {
		panic(err)
	}
	for _, f := range found.Hits {
		fmt.Println(filepath.Base(f.Path))
	}
	// Output: a.go
}
