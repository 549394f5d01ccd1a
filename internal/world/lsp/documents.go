package lsp

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// documents are the files that a server has been sent.
type documents struct {
	mu   sync.Mutex
	open map[string]*document
}

type document struct {
	version int
	text    string
	stamp   stamp
	sent    int64 // how many reports had come when it was last sent
	used    time.Time
}

// A stamp tells whether a file may have changed.
type stamp struct {
	size int64
	at   time.Time
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime()} }

const (
	maxFile      = 4 << 20 // of a file that a server is sent
	maxDocuments = 100
)

// readText reads a regular file of bounded size.
func readText(path string, info fs.FileInfo) (string, error) {
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(raw) > maxFile {
		return "", fmt.Errorf("%s is larger than %d MB, the limit for language servers", path, maxFile>>20)
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(raw), "\uFEFF"), "\uFFFD"), nil
}
