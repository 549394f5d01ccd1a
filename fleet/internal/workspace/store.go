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
