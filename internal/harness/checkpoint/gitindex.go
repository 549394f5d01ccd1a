package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/sys/regular"
)

// A repository is what git knows of a tree: the object that holds each tracked file.
// A file that is as git last saw it need not be copied.
type repository struct {
	dir     string // the repository's own folder
	prefix  string // of the root within the work tree, "" or with a slash at the end
	written int64  // when the index was
	files   map[string]*tracked
	// converts says that files may differ from their objects (line ends, filters such
	// as Git LFS): then a file counts as tracked if its content is the object's.
	converts bool
}

// tracked is an entry of the index: the file as git saw it, and its object.
type tracked struct {
	ctime, mtime int64
	ino, size    uint32
	object       string // 40 hexadecimal digits
}

const maxIndex = 256 << 20 // bytes

// openRepository reads the index of the repository that root is in, nil if there is
// none or one of a kind that is not understood.
func openRepository(root string) *repository {
	top, dir := findRepository(root)
	if dir == "" {
		return nil
	}
	config := common(dir)
	text, _ := regular.Read(filepath.Join(config, "config"), maxConfig)
	if bytes.Contains(bytes.ToLower(text), []byte("objectformat")) || bytes.Contains(bytes.ToLower(text), []byte("partialclone")) {
		return nil // other hashes, or objects that are elsewhere
	}
	index := filepath.Join(dir, "index")
	info, err := os.Lstat(index)
	if err != nil {
		return nil
	}
	raw, err := regular.Read(index, maxIndex)
	if err != nil {
		return nil
	}
	r := &repository{dir: dir, written: info.ModTime().UnixNano()}
	if rel, err := filepath.Rel(top, root); err == nil && rel != "." {
		r.prefix = filepath.ToSlash(rel) + "/"
	}
	attributes := false
	if r.files, attributes, err = parseIndex(raw, r.prefix); err != nil {
		return nil
	}
	r.converts = attributes || mayConvert(text, config)
	return r
}

const maxConfig = 1 << 20 // bytes

// findRepository returns the work tree around a folder and the repository's own folder.
func findRepository(root string) (top, dir string) {
	for top = root; ; top = filepath.Dir(top) {
		dir = filepath.Join(top, ".git")
		info, err := os.Lstat(dir)
		switch {
		case err == nil && info.IsDir():
			return top, dir
		case err == nil && info.Mode().IsRegular(): // a linked work tree or a submodule
			raw, err := regular.Read(dir, maxConfig)
			to, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir: ")
			if err != nil || !ok {
				return "", ""
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(top, to)
			}
			return top, to
		}
		if top == filepath.Dir(top) {
			return "", ""
		}
	}
}

// common returns the folder that linked work trees share.
func common(dir string) string {
	raw, err := regular.Read(filepath.Join(dir, "commondir"), maxConfig)
	to := strings.TrimSpace(string(raw))
	switch {
	case err != nil || to == "":
		return dir
	case filepath.IsAbs(to):
		return to
	}
	return filepath.Join(dir, to)
}

// mayConvert reports whether git may change contents on their way into the work tree.
// It looks for the words; to be wrong costs a read of each file, not a content.
func mayConvert(config []byte, dir string) bool {
	if exists(filepath.Join(dir, "info", "attributes")) {
		return true
	}
	home, _ := os.UserHomeDir() // without one there are no settings in it
	xdg := os.Getenv("XDG_CONFIG_HOME")
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	if exists(filepath.Join(xdg, "git", "attributes")) || exists("/etc/gitattributes") {
		return true
	}
	texts := [][]byte{config}
	for _, file := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(xdg, "git", "config"), "/etc/gitconfig"} {
		text, err := regular.Read(file, maxConfig)
		if err == nil {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		text = bytes.ToLower(text)
		for _, word := range []string{"autocrlf", "attributesfile", "include", "eol"} {
			if bytes.Contains(text, []byte(word)) {
				return true
			}
		}
	}
	return false
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

var errIndex = errors.New("git's index cannot be read")

// parseIndex returns the plain files of an index below a prefix, by their path from
// there, and whether the repository has attributes. See git's documentation, gitformat-index(5).
func parseIndex(raw []byte, prefix string) (files map[string]*tracked, attributes bool, err error) {
	const header, fixed = 12, 62 // bytes
	if len(raw) < header+sha1.Size || string(raw[:4]) != "DIRC" {
		return nil, false, errIndex
	}
	version, count := binary.BigEndian.Uint32(raw[4:]), binary.BigEndian.Uint32(raw[8:])
	if version < 2 || version > 4 {
		return nil, false, fmt.Errorf("%w: version %d", errIndex, version)
	}
	files = make(map[string]*tracked, min(count, uint32(len(raw)/fixed)))
	name := ""
	for at := header; count > 0; count-- {
		if at+fixed+2 > len(raw) {
			return nil, false, errIndex
		}
		e := raw[at:]
		flags := binary.BigEndian.Uint16(e[60:])
		size, extended := fixed, uint16(0)
		if flags&0x4000 != 0 {
			extended = binary.BigEndian.Uint16(e[62:])
			size += 2
		}
		var used int
		var ok bool
		if name, used, ok = indexName(e[size:], name, version); !ok {
			return nil, false, errIndex
		}
		size += used
		if version < 4 {
			size = (size + 7) &^ 7 // with the zero that ends the name, to a multiple of eight
		}
		at += size
		attributes = attributes || path.Base(name) == ".gitattributes"
		rel, below := strings.CutPrefix(name, prefix)
		isFile := binary.BigEndian.Uint32(e[24:])>>12 == 0o10
		const stage, intentToAdd, skipWorktree = 0x3000, 0x2000, 0x4000
		if !below || !isFile || flags&stage != 0 || extended&(intentToAdd|skipWorktree) != 0 {
			continue
		}
		files[rel] = &tracked{
			ctime: instant(e), mtime: instant(e[8:]), ino: binary.BigEndian.Uint32(e[20:]), size: binary.BigEndian.Uint32(e[36:]),
			object: hex.EncodeToString(e[40:60]),
		}
	}
	return files, attributes, nil
}

// indexName reads the name of an entry and says how many bytes it takes.
func indexName(raw []byte, last string, version uint32) (name string, used int, ok bool) {
	keep := ""
	if version == 4 { // a number of bytes to drop from the end of the name before
		drop, i := 0, 0
		for ; ; i++ {
			if i >= len(raw) || i > 4 {
				return "", 0, false
			}
			drop = drop<<7 | int(raw[i]&0x7f)
			if raw[i]&0x80 == 0 {
				break
			}
			drop++
		}
		if drop > len(last) {
			return "", 0, false
		}
		keep, raw, used = last[:len(last)-drop], raw[i+1:], i+1
	}
	end := bytes.IndexByte(raw, 0)
	if end < 0 {
		return "", 0, false
	}
	return keep + string(raw[:end]), used + end + 1, true
}

func instant(raw []byte) int64 {
	return int64(binary.BigEndian.Uint32(raw))*1e9 + int64(binary.BigEndian.Uint32(raw[4:]))
}

// object returns the object that has the content of a file which is as git saw it; ""
// if that is not known. A file that was changed when the index was written, or later,
// may have been changed unseen.
func (r *repository) object(rel string, n *node) string {
	t := r.files[rel]
	if t == nil || n.MTime != t.mtime || n.CTime != t.ctime || uint32(n.Size) != t.size || n.Ino != 0 && uint32(n.Ino) != t.ino ||
		max(n.MTime, n.CTime) >= r.written {
		return ""
	}
	return t.object
}

// objectOf is the name that git gives to a content.
func objectOf(content []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// holds reports whether one of the paths is the repository's own folder, in it or
// above it: what is written there may cost the objects.
func (r *repository) holds(paths []string) bool {
	for _, p := range paths {
		p = filepath.ToSlash(filepath.Clean(p))
		for _, dir := range []string{r.dir, common(r.dir)} {
			dir = filepath.ToSlash(dir)
			if p == dir || strings.HasPrefix(dir, strings.TrimSuffix(p, "/")+"/") || strings.HasPrefix(p, path.Clean(dir)+"/") {
				return true
			}
		}
	}
	return false
}

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
