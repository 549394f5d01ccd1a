package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/haftdev/haft/fleet/internal/engine"
)

func writeFile(path string, content []byte) error { return engine.WriteFile(path, content) }

// writeOne writes a file whose content comes next.
func writeOne(root *os.Root, name string, e entry, from *bufio.Reader) error {
	head, err := from.ReadString('\n')
	f := strings.Fields(head)
	if err != nil || len(f) != 3 || f[1] != "blob" {
		return &DamagedError{fmt.Sprintf("the stored content of %q is missing: %q", name, strings.TrimSpace(head))}
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return err
	}
	local := filepath.FromSlash(name)
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o777); err != nil {
			return err
		}
	}
	content := io.LimitReader(from, size)
	if e.mode == linkMode {
		to, err := io.ReadAll(content)
		if err == nil {
			err = root.Symlink(string(to), local)
		}
		if err == nil {
			_, err = from.Discard(1)
		}
		return err
	}
	mode := os.FileMode(0o666)
	if e.mode == execMode {
		mode = 0o777
	}
	file, err := root.OpenFile(local, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, content)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err = errors.Join(err, file.Close()); err == nil {
		_, err = from.Discard(1)
	}
	return err
}

// safeName reports whether a path in a tree can be one of a file of the run.
func safeName(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	for _, part := range strings.Split(name, "/") {
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") || part == "" {
			return false
		}
	}
	return true
}
