package lsp

import (
	"errors"
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

// show sends a file as it is now, unless the server has it, and returns its text.
func (c *Client) show(path string) (doc document, err error) {
	c.docs.mu.Lock()
	defer c.docs.mu.Unlock()
	return c.showLocked(path)
}

func (c *Client) showLocked(path string) (document, error) {
	language, _ := c.def.language(path)
	info, err := os.Stat(path)
	if err != nil {
		return document{}, err
	}
	known := c.docs.open[path]
	if known != nil {
		known.used = time.Now()
		if known.stamp == stampOf(info) {
			return *known, nil
		}
	}
	text, err := readText(path, info)
	if err != nil {
		return document{}, err
	}
	if known != nil && known.text == text {
		known.stamp = stampOf(info)
		return *known, nil
	}
	doc := document{version: 1, text: text, stamp: stampOf(info), sent: c.found.count(), used: time.Now()}
	if known == nil {
		c.makeRoomLocked()
		err = c.conn.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": URI(path), "languageId": language, "version": doc.version, "text": text,
		}})
	} else {
		doc.version = known.version + 1
		id := map[string]any{"uri": URI(path), "version": doc.version}
		err = errors.Join(
			c.conn.notify("textDocument/didChange", map[string]any{"textDocument": id, "contentChanges": []any{map[string]string{"text": text}}}),
			c.conn.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": URI(path)}}))
	}
	if err != nil {
		return document{}, err
	}
	if c.docs.open == nil {
		c.docs.open = make(map[string]*document)
	}
	c.docs.open[path] = &doc
	return doc, nil
}

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

// makeRoomLocked closes the file that was not used for longest, if there are many.
func (c *Client) makeRoomLocked() {
	if len(c.docs.open) < maxDocuments {
		return
	}
	var oldest string
	for path, d := range c.docs.open {
		if oldest == "" || d.used.Before(c.docs.open[oldest].used) {
			oldest = path
		}
	}
	c.closeLocked(oldest)
}

func (c *Client) closeLocked(path string) {
	delete(c.docs.open, path)
	_ = c.conn.notify("textDocument/didClose", map[string]any{"textDocument": map[string]string{"uri": URI(path)}})
}

// refresh sends what has changed on the disk since the server was last told.
func (c *Client) refresh() {
	c.docs.mu.Lock()
	defer c.docs.mu.Unlock()
	for path := range c.docs.open {
		if _, err := c.showLocked(path); err != nil {
			c.closeLocked(path)
		}
	}
	if changes := c.watch.changes(c); len(changes) > 0 {
		_ = c.conn.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": changes})
	}
}
