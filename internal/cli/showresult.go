package cli

import (
	"io"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool/schema"
)

// isTerminal reports whether a user sees what is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// A harmlessWriter writes to a terminal what another program wrote.
type harmlessWriter struct{ io.Writer }

func (w harmlessWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, visible.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func repairTexts(repairs []schema.Repair) []string {
	var texts []string
	for _, r := range repairs {
		texts = append(texts, r.String())
	}
	return texts
}

// untagged removes the tags that tell a model where an error comes from.
var untagged = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "")
