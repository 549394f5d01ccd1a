package jsonstream_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/text/jsonstream"
)

// chunkSize is about what one token of a streaming model brings.
const chunkSize = 14

// BenchmarkContent streams a large string, and sets
// that beside one json.Unmarshal of the whole, measured in turn in the same loop.
func BenchmarkContent(b *testing.B) {
	for _, bench := range []struct{ name, line string }{
		{"code", "\tif err := s.serve(ctx, conn); err != nil { return fmt.Errorf(\"serve: %w\", err) }\n"},
		{"plain", strings.Repeat("plain words without escapes ", 3)},
		{"japanese", "これは日本語の文章です。\n"},
	} {
		content, err := json.Marshal(strings.Repeat(bench.line, 1<<20/len(bench.line)))
		if err != nil {
			b.Fatal(err)
		}
		input := fmt.Appendf(nil, `{"file_path": "/a", "content": %s}`, content)
		b.Run(bench.name, func(b *testing.B) { benchmarkContent(b, input) })
	}
}

func benchmarkContent(b *testing.B, input []byte) {
	var stream, whole time.Duration
	for b.Loop() {
		start := time.Now()
		o := jsonstream.New(nil)
		for chunk := range slices.Chunk(input, chunkSize) {
			o.Write(chunk)
		}
		if _, err := o.Close(); err != nil {
			b.Fatal(err)
		}
		stream += time.Since(start)

		start = time.Now()
		var v struct {
			FilePath string `json:"file_path"`
			Content  string `json:"content"`
		}
		if err := json.Unmarshal(input, &v); err != nil {
			b.Fatal(err)
		}
		whole += time.Since(start)
	}
	mb := float64(b.N) * float64(len(input)) / 1e6
	b.ReportMetric(mb/stream.Seconds(), "stream-MB/s")
	b.ReportMetric(mb/whole.Seconds(), "unmarshal-MB/s")
	b.ReportMetric(stream.Seconds()/whole.Seconds(), "stream/unmarshal")
}

func BenchmarkTypical(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		o := jsonstream.New(nil)
		for s := typical; s != ""; s = s[min(len(s), chunkSize):] {
			o.WriteString(s[:min(len(s), chunkSize)])
		}
		if _, err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKeys shows that the cost of a key does not grow with their number.
func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, `"key-%08d":0,`, i)
		}
		input := `{` + s.String() + `"last":0}`
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := read(input, 1<<10, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/key")
		})
	}
}
