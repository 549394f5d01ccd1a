package tui

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/knowledge/prompt"
)

// pasteImage attaches the picture in the clipboard to what is written.
func (a *app) pasteImage() {
	if a.opts.Clipboard == nil || a.talk == nil {
		a.hint = a.t("there is no clipboard to paste from")
		return
	}
	talk := a.talk
	a.hint = a.t("looking for an image in the clipboard…")
	go func() {
		data, err := a.opts.Clipboard.Image(a.ctx)
		path := ""
		if err == nil {
			path, err = talk.Input.KeepImage(data)
		}
		a.later(func() {
			a.hint, a.dirty = "", true
			if err != nil {
				a.hint = a.lang.Error(err)
				return
			}
			a.attach(path)
		})
	}()
}

// attach adds an image to what is written, as a mark.
func (a *app) attach(path string) {
	a.images = append(a.images, path)
	a.write.Insert(imageMark(len(a.images)) + " ")
}

func imageMark(n int) string { return fmt.Sprintf("[image %d]", n) }

// attached are the images whose marks are in a text.
func (a *app) attached(text string) (paths []string) {
	for i, path := range a.images {
		if strings.Contains(text, imageMark(i+1)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// dropped attaches images whose paths were pasted, as terminals do with a file that is
// dragged onto them: quoted, with escaped blanks, or as an address. It reports false for any
// other text.
func (a *app) dropped(text string) bool {
	const longest = 8 << 10
	if a.talk == nil || len(text) > longest {
		return false
	}
	whole := strings.Trim(strings.TrimSpace(text), `'"`)
	names := []string{whole}
	if !isImage(pathOf(whole)) {
		names = prompt.Words(strings.ReplaceAll(strings.TrimSpace(text), `\ `, "\x00"))
	}
	var paths []string
	for _, n := range names {
		path := pathOf(strings.ReplaceAll(n, "\x00", " "))
		if !filepath.IsAbs(path) || !isImage(path) {
			return false
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		a.attach(path)
	}
	return len(paths) > 0
}

// pathOf is the path of an address of a file, or the path itself.
func pathOf(name string) string {
	if u, err := url.Parse(name); err == nil && u.Scheme == "file" {
		return filepath.FromSlash(u.Path)
	}
	return name
}

// isImage reports whether a path is that of a picture that is there.
func isImage(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return false
}
