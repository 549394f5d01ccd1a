package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// What a call costs in a repository of a thousand files: one that changed nothing, and one that
// changed a file.
func BenchmarkStore(b *testing.B) {
	remote, seed := filepath.Join(b.TempDir(), "remote"), b.TempDir()
	git := git{dir: filepath.Join(remote, ".git"), work: remote, env: []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}}
	for n := range 1000 {
		path := filepath.Join(remote, fmt.Sprintf("dir%d", n%40), fmt.Sprintf("file%d", n))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 5000+n), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.MkdirAll(git.dir, 0o777); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		if _, err := git.run(b.Context(), nil, args...); err != nil {
			b.Fatal(err)
		}
	}
	w, err := Open(b.Context(), &Options{Dir: seed, Run: "run", Spec: Spec{Repository: remote}, Blobs: blob.Dir(b.TempDir())})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for _, change := range []bool{false, true} {
		b.Run(fmt.Sprintf("change=%t", change), func(b *testing.B) {
			for n := range b.N {
				if change {
					if err := os.WriteFile(filepath.Join(w.Folder(), "dir1", "file1"), fmt.Append(nil, n, b.N), 0o666); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Store(b.Context(), "call"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
