package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// A cache keeps what servers said when they were last connected: which era they
// speak, and their tools. It holds nothing that cannot be asked again; whatever
// cannot be read is as good as absent.
type cache struct{ dir, project string }

// A memory is what is kept of one server.
type memory struct {
	Protocol     string            `json:"protocol,omitempty"`
	Info         *Info             `json:"info,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools,omitempty"`
}

// path names the file of a server by the whole of its entry and by the folder that it
// is started in: a changed entry is another server, and so is ./server of another project.
func (c cache) path(cfg Server) string {
	raw, err := json.Marshal(cfg)
	if err != nil || c.dir == "" || cfg.kind() == SDK {
		return ""
	}
	sum := sha256.Sum256(append([]byte(cfg.Name+"\x00"+c.project+"\x00"), raw...))
	return filepath.Join(c.dir, "mcp-"+hex.EncodeToString(sum[:12])+".json")
}

func (c cache) get(cfg Server) (memory, bool) {
	var m memory
	raw, err := os.ReadFile(c.path(cfg))
	if err != nil || json.Unmarshal(raw, &m) != nil {
		return memory{}, false
	}
	return m, true
}

func (c cache) put(cfg Server, m memory) {
	path := c.path(cfg)
	raw, err := json.Marshal(m)
	if path == "" || err != nil || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(c.dir, "mcp-*.tmp")
	if err != nil {
		return
	}
	_, err = f.Write(raw)
	if f.Close() != nil || err != nil || os.Rename(f.Name(), path) != nil {
		os.Remove(f.Name())
	}
}

func setTools(c cache, cfg Server, known catalogue, entries []json.RawMessage) {
	c.put(cfg, memory{Protocol: known.protocol, Info: known.info, Instructions: known.instructions, Tools: entries})
}

// forget drops what is known of a server.
func (c cache) forget(cfg Server) {
	if path := c.path(cfg); path != "" {
		os.Remove(path)
	}
}

func (c cache) setProtocol(cfg Server, protocol string) {
	if m, _ := c.get(cfg); m.Protocol != protocol {
		m.Protocol = protocol
		c.put(cfg, m)
	}
}

func (c cache) protocol(cfg Server) string {
	m, _ := c.get(cfg)
	return m.Protocol
}
