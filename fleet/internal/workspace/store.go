package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Store stores the files as they are now, after a call, and returns the point to go into the
// journal. When it returns without an error, the files survive this machine.
func (w *Workspace) Store(ctx context.Context, call string) (*Point, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.store(ctx, call)
	if err != nil {
		w.seen = map[string]seen{}
		return nil, fmt.Errorf("store the files of the run: %w", explain(err, w.Dir))
	}
	return p, nil
}

func (w *Workspace) store(ctx context.Context, call string) (*Point, error) {
	refs, err := w.folderRefs()
	if err != nil {
		return nil, err
	}
	var left []leftOut
	mark := refs.mark
	if mark != w.refs {
		if why := w.takeRefs(ctx, refs); why != "" { // the next call tries again
			left, mark = append(left, leftOut{".git", why, true}), ""
		}
	}
	if err := w.readBranches(ctx, refs, mark); err != nil {
		return nil, err
	}
	im := &importer{w: w, ctx: ctx}
	defer im.abort()
	more, err := w.scan(ctx, im.change)
	if err != nil {
		return nil, err
	}
	left = slices.Concat(left, w.branches.left, more)
	p := *w.point
	p.Call, p.Path, p.Left = call, w.work, firstFew(left)
	if mark != w.refs && im.cmd == nil {
		if err := im.start(); err != nil {
			return nil, err
		}
	}
	if im.cmd != nil {
		if err := w.commit(ctx, im, &p); err != nil {
			return nil, err
		}
	}
	known, _ := readNoted(w.root)                                                 // one that cannot be read is replaced
	if known == nil || im.cmd != nil || !slices.Equal(p.Left, known.Point.Left) { // else nothing has changed but the call
		w.refs = mark
		if err := w.note(&p); err != nil {
			return nil, err
		}
	}
	w.point, w.left = &p, map[string]bool{}
	for _, l := range left {
		w.left[l.path] = true
	}
	return &p, nil
}

// commit finishes a commit and stores its objects.
func (w *Workspace) commit(ctx context.Context, im *importer, p *Point) error {
	if err := im.finish(); err != nil {
		return err
	}
	out, err := w.objects.text(ctx, "rev-parse", pointRef, pointRef+"^{tree}")
	if err != nil {
		return err
	}
	var ok bool
	if p.Commit, p.Tree, ok = strings.Cut(out, "\n"); !ok {
		return errors.New("git did not report the commit and tree that it wrote")
	}
	if err := w.keep(ctx, p, w.point); err != nil {
		return err
	}
	for _, c := range im.changes {
		if c.mode == "" {
			delete(w.tree, c.path)
			delete(w.seen, c.path)
			continue
		}
		w.tree[c.path], w.seen[c.path] = c.entry, c.seen
	}
	return nil
}

// maxLeft is how many files that are not stored are listed.
const maxLeft = 20

func firstFew(left []leftOut) (list []string) {
	for _, l := range left {
		list = append(list, l.path+": "+l.why)
	}
	slices.Sort(list)
	if len(list) > maxLeft {
		list = append(list[:maxLeft:maxLeft], fmt.Sprintf("and %d more", len(list)-maxLeft))
	}
	return list
}

// pointRef is the last commit that was made.
const pointRef = "refs/haft/point"

// An importer makes a commit. Git is started with the first change.
type importer struct {
	w       *Workspace
	ctx     context.Context
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Writer
	said    tail
	changes []*change
}

func (im *importer) start() (err error) {
	w := im.w
	state := *w.branches.state
	state.Run = w.Run
	message, err := json.Marshal(state)
	if err != nil {
		return err
	}
	im.cmd = w.objects.command(im.ctx, "fast-import", "--quiet", "--force", "--done")
	im.cmd.Stderr = &im.said
	if im.in, err = im.cmd.StdinPipe(); err == nil {
		err = im.cmd.Start()
	}
	if err != nil {
		im.cmd = nil
		return fmt.Errorf("start git: %w", err)
	}
	im.out = bufio.NewWriterSize(im.in, 1<<16)
	fmt.Fprintf(im.out, "commit %s\ncommitter haft <haft@localhost> %d +0000\ndata %d\n%s\nfrom %s\n", pointRef, time.Now().Unix(), len(message), message, w.point.Commit)
	for _, hash := range state.commits() {
		if hash != w.point.Commit && hash != w.point.Base {
			fmt.Fprintf(im.out, "merge %s\n", hash)
		}
	}
	return nil
}

// change adds a change to the commit.
func (im *importer) change(c *change) error {
	if im.cmd == nil {
		if err := im.start(); err != nil {
			return err
		}
	}
	switch {
	case c.mode == "":
		fmt.Fprintf(im.out, "D %s\n", quote(c.path))
	case c.committed:
		fmt.Fprintf(im.out, "M %s %s %s\n", c.mode, c.entry.object, quote(c.path))
	default:
		fmt.Fprintf(im.out, "M %s inline %s\ndata %d\n", c.mode, quote(c.path), len(c.content))
		im.out.Write(c.content)
		im.out.WriteByte('\n')
	}
	c.content = nil
	im.changes = append(im.changes, c)
	return nil
}

func (im *importer) finish() error {
	im.out.WriteString("\ndone\n")
	err := errors.Join(im.out.Flush(), im.in.Close())
	if waited := im.cmd.Wait(); waited != nil {
		err = fmt.Errorf("git fast-import: %s", im.said.text())
	}
	im.in = nil
	return err
}

// abort ends what was not finished.
func (im *importer) abort() {
	if im.cmd != nil && im.in != nil {
		_ = im.cmd.Process.Kill()
		_ = im.cmd.Wait()
	}
}

// quote writes a path so that git reads it as it is.
func quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// note writes down what the folder was when it was stored, so that another worker can tell whether
// it has changed since.
func (w *Workspace) note(p *Point) error {
	raw, err := json.Marshal(&noted{Spec: w.Spec, Run: w.Run, Point: p, Refs: w.refs})
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(w.root, notedName), raw)
}

// noted is what is known of a folder.
type noted struct {
	Spec  Spec   `json:"spec"`
	Run   string `json:"run"`
	Point *Point `json:"point"`
	Refs  string `json:"refs"`
}

const (
	notedName   = "stored.json"
	objectsName = "objects.git"
)

// readNoted returns what is known of the folder in root; nil if it was never finished. One whose
// note cannot be read may have anything in it.
func readNoted(root string) (*noted, error) {
	raw, err := os.ReadFile(filepath.Join(root, notedName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	n := new(noted)
	if err == nil {
		err = json.Unmarshal(raw, n)
	}
	if err == nil && n.Point == nil {
		err = errors.New("it does not say which files are stored")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(root, notedName), err)
	}
	return n, nil
}
