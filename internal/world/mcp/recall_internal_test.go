package mcp

import (
	"encoding/json"
	"fmt"
	"testing"
)

// BenchmarkRecall is what a server costs at start whose fifty tools are known from
// last time.
func BenchmarkRecall(b *testing.B) {
	h := NewHost(&Options{CacheDir: b.TempDir()})
	defer h.Close()
	var tools []json.RawMessage
	for i := range 50 {
		tools = append(tools, fmt.Appendf(nil, `{"name":"tool_%d","description":"Looks something up and says what it found, in the words of the one who wrote it.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"what to look for"},"limit":{"type":"integer","minimum":1,"maximum":100},"kind":{"enum":["a","b"]}},"required":["query"]}}`, i))
	}
	p := newPeer(h, Server{Name: "s", Command: "x"}, "s")
	setTools(h.cache, p.cfg, catalogue{protocol: legacyProtocol}, tools)
	for b.Loop() {
		p.recall()
		if len(p.tools()) != 50 {
			b.Fatal("the tools are not there")
		}
	}
}
