package harness

import (
	"bytes"
)

// embedded is the [tool.Tool.Source] of tools of the program that embeds haft.
const embedded = "program"

// toolEnviron are the variables of this process that a command tool gets. What else it needs, the
// settings have in env.
var toolEnviron = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT"}

// maxToolOutput is how much of a tool's output is held in memory.
const maxToolOutput = 16 << 20

// A limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct {
	kept bytes.Buffer
	left int
}

// Write never fails: a command whose output is cut still runs to its end.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.kept.Write(p[:n])
	return len(p), nil
}
