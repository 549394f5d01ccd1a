package checkpoint_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/harness/checkpoint"
)

// TestWhatIsSaidToBeRestorableIsRestored deletes each path: it is back after a rewind if and
// only if that was said.
func TestWhatIsSaidToBeRestorableIsRestored(t *testing.T) {
	const made = `mkdir -p dir/deep nested/.git out pipes; echo a >plain; echo b >dir/deep/b; ln -s plain link
		echo secret >.env; mkdir with; echo secret >with/.env; echo c >nested/.git/config; echo d >out/d; echo out/ >.gitignore; git init -q .
		head -c 300000 /dev/zero >large; mkfifo pipes/fifo; mkdir holds; cp large holds/large`
	for path, want := range map[string]bool{
		"plain": true, "dir": true, "dir/deep/b": true, "link": true, ".gitignore": true, "not/there": true,
		".env": false, "with": false, ".git": false, ".git/HEAD": false, "nested": false, "out": false, "out/d": false,
		"large": false, "holds": false, "pipes": false, ".": false, "../outside": false,
	} {
		t.Run(path, func(t *testing.T) {
			b := newBench(t, &checkpoint.Options{MaxFileSize: 200_000})
			b.outside(made)
			full := filepath.Join(b.root, path)
			if got := b.keeper.Restores(t.Context(), []string{full}); got != want {
				t.Fatalf("said %v, want %v", got, want)
			}
			if _, err := os.Lstat(full); !want || errors.Is(err, fs.ErrNotExist) {
				return
			}
			call := b.bash("rm -rf " + path)
			b.rewind(call, false)
			if _, err := os.Lstat(full); err != nil {
				t.Errorf("it is not back: %v", err)
			}
		})
	}
	large := newBench(t, &checkpoint.Options{MaxFiles: 2})
	large.outside("touch a b c")
	if large.keeper.Restores(t.Context(), []string{filepath.Join(large.root, "a")}) {
		t.Error("a tree that is not looked at was said to be covered")
	}
}
