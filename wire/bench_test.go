package wire_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/wire"
)

func messages() map[string]wire.Message {
	answer := func(n int) wire.Message {
		return &wire.Assistant{
			Stamp:   wire.Stamp{UUID: "u", SessionID: "s"},
			Message: wire.AssistantMessage{ID: "m", Type: "message", Role: "assistant", Content: []wire.Block{wire.Text(strings.Repeat("word ", n/5))}},
		}
	}
	return map[string]wire.Message{"1KB": answer(1 << 10), "1MB": answer(1 << 20)}
}

func BenchmarkEncode(b *testing.B) {
	for name, m := range messages() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				line, err := wire.Encode(m)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(line)))
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, m := range messages() {
		line, err := wire.Encode(m)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := wire.Decode(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
