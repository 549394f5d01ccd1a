package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/fleet/internal/engine"
)

func writeFile(path string, content []byte) error { return engine.WriteFile(path, content) }

// restore makes the folder what it was at the last point.
func (w *Workspace) restore(ctx context.Context) error {
	last := *w.Last
	s, err := w.fetchPoint(ctx, &last)
	if err != nil {
		return err
	}
	folder := git{dir: filepath.Join(w.work, ".git"), work: w.work}
	if last.Commit == last.Base {
		return w.checkOut(ctx)
	}
	// The folder's repository gets the commits of the branches.
	if _, err := w.objects.run(ctx, nil, "update-ref", pointRef, last.Commit); err != nil {
		return err
	}
	if _, err := folder.run(ctx, nil, "fetch", "-q", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--", w.objects.dir, pointRef); err != nil {
		return fmt.Errorf("restore the commits of the run: %w", err)
	}
	if err := w.setHeads(ctx, s); err != nil {
		return err
	}
	if w.tree, err = w.readTree(ctx, last.Commit); err != nil {
		return err
	}
	if err := w.writeFiles(ctx); err != nil {
		return fmt.Errorf("restore the files of the run: %w", err)
	}
	if head, err := folder.text(ctx, "rev-parse", "--verify", "-q", "HEAD^{commit}"); err == nil {
		if _, err := folder.run(ctx, nil, "read-tree", head); err != nil {
			return fmt.Errorf("restore the index of the run: %w", err)
		}
		_, _ = folder.run(ctx, nil, "update-index", "-q", "--refresh") // it only saves time later
	}
	w.point = &last
	if err := w.begin(ctx); err != nil {
		return err
	}
	if w.point.Tree != last.Tree {
		return &DamagedError{fmt.Sprintf("the files of the run could not be restored as they were: the tree is %s, not %s", w.point.Tree, last.Tree)}
	}
	return nil
}

// writeFiles writes the files of the tree, as they are in it. Links come last: nothing is written
// through them.
func (w *Workspace) writeFiles(ctx context.Context) error {
	root, err := os.OpenRoot(w.work)
	if err != nil {
		return err
	}
	defer root.Close()
	var names []string
	for name, e := range w.tree {
		if !safeName(name) {
			return &DamagedError{fmt.Sprintf("the stored file name %q is invalid", name)}
		}
		if e.mode != gitMode {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if la, lb := w.tree[a].mode == linkMode, w.tree[b].mode == linkMode; la != lb {
			if la {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	cmd := w.objects.command(ctx, "cat-file", "--batch", "--buffer")
	var in strings.Builder
	for _, name := range names {
		in.WriteString(w.tree[name].object + "\n")
	}
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	from := bufio.NewReaderSize(out, 1<<16)
	for _, name := range names {
		if err = writeOne(root, name, w.tree[name], from); err != nil {
			_ = cmd.Process.Kill()
			break
		}
	}
	if waited := cmd.Wait(); err == nil {
		err = waited
	}
	return err
}

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
