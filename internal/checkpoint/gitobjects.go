package checkpoint

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/ownprogram"
)

// objects reads objects of a repository, in any number, and gives each to take. One that
// the repository does not have is left out. Git reads them; it runs nothing of the
// repository and fetches nothing.
func (r *repository) objects(ctx context.Context, names []string, maxSize int64, take func(name string, content []byte) error) error {
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	git, err := ownprogram.Find("git", filepath.Dir(r.dir))
	if err != nil {
		return fmt.Errorf("read git's objects: %w", err)
	}
	cmd := exec.CommandContext(ctx, git, "--git-dir="+r.dir, "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "cat-file", "--batch", "--buffer")
	cmd.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("read git's objects: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("read git's objects: %w", err)
	}
	err = readObjects(bufio.NewReaderSize(out, 64<<10), len(names), maxSize, take)
	cancel() // all is read, or nothing more is wanted
	cmd.Wait()
	if err != nil {
		return fmt.Errorf("read git's objects: %w", err)
	}
	return nil
}

func readObjects(from *bufio.Reader, count int, maxSize int64, take func(string, []byte) error) error {
	for range count {
		line, err := from.ReadString('\n')
		if err != nil {
			return err
		}
		var name, kind string
		var size int64
		if n, _ := fmt.Sscanf(line, "%s %s %d", &name, &kind, &size); n < 3 {
			continue // "… missing"
		}
		if size > maxSize || kind != "blob" {
			if _, err := io.CopyN(io.Discard, from, size+1); err != nil {
				return err
			}
			continue
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(from, content); err != nil {
			return err
		}
		content = content[:size]
		if objectOf(content) != name {
			continue
		}
		if err := take(name, content); err != nil {
			return err
		}
	}
	return nil
}
