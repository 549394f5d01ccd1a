package mcp

import (
	"net/url"
	"path/filepath"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

// SetRoots changes the directories that servers are told about.
func (h *Host) SetRoots(dirs []string) {
	h.mu.Lock()
	old := h.roots
	h.roots = slices.Clone(dirs)
	h.mu.Unlock()
	for _, p := range peersOf(h) {
		p.mu.Lock()
		s := p.session
		p.mu.Unlock()
		if s != nil {
			s.setRoots(old, dirs)
		}
	}
}

func (h *Host) rootDirs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.roots)
}

// setRoots tells the server about changed directories.
func (s *session) setRoots(old, dirs []string) {
	var gone []string
	for _, r := range roots(old) {
		if !slices.ContainsFunc(roots(dirs), func(n *sdk.Root) bool { return n.URI == r.URI }) {
			gone = append(gone, r.URI)
		}
	}
	s.client.RemoveRoots(gone...)
	s.client.AddRoots(roots(dirs)...)
}

func roots(dirs []string) []*sdk.Root {
	var all []*sdk.Root
	for _, dir := range dirs {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}
		all = append(all, &sdk.Root{URI: u.String(), Name: filepath.Base(dir)})
	}
	return all
}
