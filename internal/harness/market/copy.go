package market

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/text/visible"
)

const (
	maxFiles = 10_000 // folders and links are counted too
	maxBytes = 200 << 20
	maxDepth = 32
)

var errTooLarge = fmt.Errorf("it is larger than %d MiB", maxBytes>>20)

// A copier copies a plugin's folder. Both ends are roots, which no name and no link can
// lead out of.
type copier struct {
	from, to *os.Root
	files    int
	bytes    int64
	sum      hash.Hash
}

// copyFolder copies everything but git's own files, and returns a digest of the copy.
func copyFolder(from, to *os.Root) (digest string, err error) {
	c := &copier{from: from, to: to, sum: sha256.New()}
	if err := c.folder(".", 0); err != nil {
		return "", err
	}
	return hex.EncodeToString(c.sum.Sum(nil)), nil
}

func (c *copier) folder(dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: folders are nested more than %d deep", dir, maxDepth)
	}
	f, err := c.from.Open(dir)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(maxFiles + 1)
	if err = errors.Join(ignoreEOF(err), f.Close()); err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if strings.EqualFold(e.Name(), ".git") {
			continue // a repository of its own would come with programs that git runs
		}
		if err := c.entry(path.Join(dir, e.Name()), e.Name(), depth); err != nil {
			return err
		}
	}
	return nil
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func (c *copier) entry(name, base string, depth int) error {
	if c.files++; c.files > maxFiles {
		return fmt.Errorf("it has more than %d files", maxFiles)
	}
	if !utf8.ValidString(base) || visible.Name(base) != base || strings.Contains(base, `\`) {
		return fmt.Errorf("%q: the file name contains a backslash or characters that cannot be shown", name)
	}
	if name == plugin.RecordName {
		return fmt.Errorf("it contains a file %s, which is reserved for haft", name)
	}
	info, err := c.from.Lstat(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.sum, "%q %v\n", name, info.Mode().Type()|info.Mode()&0o100)
	switch mode := info.Mode(); {
	case mode.IsDir():
		if err := c.to.Mkdir(name, 0o700); err != nil {
			return err
		}
		return c.folder(name, depth+1)
	case mode.IsRegular():
		return c.file(name)
	case mode&fs.ModeSymlink != 0:
		return c.link(name)
	}
	return fmt.Errorf("%s is neither a file nor a folder", name)
}

func (c *copier) file(name string) error {
	in, err := c.from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a folder", name)
	}
	room := maxBytes - c.bytes
	if info.Size() > room {
		return errTooLarge
	}
	out, err := c.to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(out, c.sum), io.LimitReader(in, room+1))
	if c.bytes += n; n > room {
		err = errTooLarge // it has grown meanwhile
	}
	fmt.Fprintf(c.sum, "\n%d\n", n)
	return errors.Join(err, out.Close())
}

// link copies a link that leads to something inside of the folder.
func (c *copier) link(name string) error {
	target, err := c.from.Readlink(name)
	if err != nil {
		return err
	}
	if _, err := c.from.Stat(name); err != nil { // a root follows no link that leaves it
		return fmt.Errorf("%s is a link that leads out of the plugin or to nothing", name)
	}
	fmt.Fprintf(c.sum, "%q\n", target)
	return c.to.Symlink(target, name)
}
