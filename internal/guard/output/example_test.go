package output_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/tool"
)

func ExampleStore_Bound() {
	dir, err := os.MkdirTemp("", "results-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	long := strings.Repeat("a line of a log\n", 10_000) + "the error\n"
	short, kept := output.NewStore(dir).Bound("call-1", tool.Text(long).Content, 2_000)
	text := tool.JoinText(short)
	whole, err := os.ReadFile(kept.Path)
	fmt.Println(len(text) < 3_000, strings.Contains(text, "the error"), string(whole) == long, err)
	// Output: true true true <nil>
}
