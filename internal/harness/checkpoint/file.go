package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
)

// A File is how a path is: a file, a link, a directory, or, if zero, nothing.
type File struct {
	Digest string      `json:"digest,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"`
	Link   string      `json:"link,omitempty"`
	// Attrs are the extended attributes of a user, as JSON. They are put where a
	// plan says so; journals do not keep them.
	Attrs string `json:"attrs,omitempty"`
}

// Exists reports whether there is something.
func (f File) Exists() bool { return f != File{} }

// sameContent compares what people mind: permissions are put back, but one that
// differs is no change that could be lost.
func (f File) sameContent(o File) bool {
	return f.Digest == o.Digest && f.Link == o.Link && f.Mode.Type() == o.Mode.Type() && f.Exists() == o.Exists()
}

func checkpointOf(call, path string, before, after File) session.Checkpoint {
	return session.Checkpoint{CallID: call, Path: path,
		Before: before.Digest, Mode: uint32(before.Mode), Link: before.Link,
		After: after.Digest, AfterMode: uint32(after.Mode), AfterLink: after.Link}
}

// sides returns how a file was before and after.
func sides(c *session.Checkpoint) (before, after File) {
	return File{Digest: c.Before, Mode: fs.FileMode(c.Mode), Link: c.Link}, File{Digest: c.After, Mode: fs.FileMode(c.AfterMode), Link: c.AfterLink}
}

// lookAt returns how a path is now, with the content of a file.
func lookAt(path string) (f File, content []byte, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return File{}, nil, nil
	}
	if err != nil {
		return File{}, nil, fmt.Errorf("check a file: %w", err)
	}
	f.Mode = info.Mode()
	switch {
	case f.Mode&fs.ModeSymlink != 0:
		f.Link, err = os.Readlink(path)
	case f.Mode.IsRegular():
		content, err = os.ReadFile(path)
		f.Digest = blob.Digest(content)
	}
	if f.Mode.IsRegular() || f.Mode.IsDir() {
		f.Attrs = Attrs(path)
	}
	if err != nil {
		return File{}, nil, fmt.Errorf("check a file: %w", err)
	}
	return f, content, nil
}
