//go:build unix

package haft_test

import (
	"testing"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/model/script"
)

// BenchmarkQuery is a whole query with a scripted model, from the start of the
// process to its end: with the stub, which is what the SDK itself costs, and
// with real command lines.
func BenchmarkQuery(b *testing.B) {
	run := func(opts *haft.Options) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := haft.Ask(b.Context(), "hi", opts); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("stub", run(stubbed(b, "echo")))
	path, err := builtHaft()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("haft", run(commandLine{path, true}.options(b, scripted(b, []script.Block{say("hello")}))))
	b.Run("official", func(b *testing.B) {
		run(commandLine{official(b), false}.options(b, scripted(b, []script.Block{say("hello")})))(b)
	})
}
